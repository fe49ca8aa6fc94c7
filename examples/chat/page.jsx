import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { useState } from 'react'
import { createRoot } from 'react-dom/client'

const id = location.hash.slice(1) || 'default'
// The messages that the server has given to the page end where its stream begins.
const transport = new DefaultChatTransport({ api: '/api/chat', resumeStreamIsReplay: false })

function Tool({ part, answer }) {
  const name = part.type.slice('tool-'.length)
  return (
    <p className={`tool ${part.state}`}>
      {name} {JSON.stringify(part.input)}: {part.state}{' '}
      {part.state === 'output-available' && JSON.stringify(part.output)}
      {part.state === 'output-error' && part.errorText}
      {part.state === 'approval-requested' && (
        <>
          <button onClick={() => answer({ id: part.approval.id, approved: true })}>Approve</button>
          <button onClick={() => answer({ id: part.approval.id, approved: false, reason: 'no' })}>Deny</button>
        </>
      )}
    </p>
  )
}

function Chat({ before }) {
  const { messages, sendMessage, status, stop, error, regenerate, addToolApprovalResponse } = useChat({
    id,
    messages: before,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const [text, setText] = useState('')
  const stopAll = () => {
    stop() // the connection
    fetch(`/api/chat/${id}/stop`, { method: 'POST' }) // the run
  }
  const send = (event) => {
    event.preventDefault()
    sendMessage({ text })
    setText('')
  }
  return (
    <>
      {messages.map((message) => (
        <div key={message.id} className={message.role}>
          {message.parts.map((part, at) =>
            part.type === 'text' ? (
              <p key={at}>{part.text}</p>
            ) : part.type.startsWith('tool-') ? (
              <Tool key={at} part={part} answer={addToolApprovalResponse} />
            ) : null,
          )}
          {message.role === 'user' && (
            <button onClick={() => sendMessage({ text, messageId: message.id })}>Ask this instead</button>
          )}
        </div>
      ))}
      {error && <p className="error">{error.message}</p>}
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} />
        <button>Send</button>
      </form>
      <button id="stop" onClick={stopAll}>
        Stop
      </button>
      <button id="again" onClick={() => regenerate()}>
        Again
      </button>
      <output>{status}</output>
    </>
  )
}

const before = await (await fetch(`/api/chat/${id}`)).json()
createRoot(document.querySelector('main')).render(<Chat before={before} />)

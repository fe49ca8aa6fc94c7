export default function Page() {
  return <p>POST /chat, POST /api/chat</p>
}

/**
 * Agents as programs: `main` makes a command of a spec, with flags, a chat, sessions and exit codes.
 */

import { Agent } from './agent.js'
import { bridge, enter } from './bridge.js'
import { invalidArgument } from './errors.js'
import type { NativeProgramSpec } from './native.js'
import { native } from './native.js'
import { isObject, kindOf, shown } from './object.js'
import type { AgentOptions, ModelSpec } from './options.js'
import { ask } from './session.js'

/** What an agent is: its name, prompt, tools, defaults, and agents that it may call. The other fields are those of `Agent`. */
export interface AgentSpec extends Omit<AgentOptions, 'model' | 'session'> {
  /** That of the program, of its folder of sessions, and of its tool where it is a subagent. */
  name: string
  /** What it does, in a sentence: for `--help`, and for the model that may call it as a subagent. */
  description?: string | undefined
  /** What `--version` prints. */
  version?: string | undefined
  /** The model, where the command line and the environment name none. */
  model?: string | ModelSpec | undefined
  /** Agents that the model may call as tools; they have this one's model unless they name another. */
  agents?: readonly AgentSpec[] | undefined
}

/** Stands for the model until the command line names one. */
const NO_MODEL = { provider: 'scripted', id: 'none', script: [] }

/** The native spec. The agents are added to the list, which keeps them. */
function specOf(what: string, given: AgentSpec, agents: Agent[]): NativeProgramSpec {
  if (!isObject(given)) throw invalidArgument(`${what}: expected an object such as { name: 'forecast' }, got ${kindOf(given)}`)
  const { name, description = '', version, model, agents: subagents = [], ...options } = given
  if (typeof name !== 'string' || name === '') throw invalidArgument(`${what}: name: expected a text, got ${shown(name)}`)
  const agent = new Agent({ model: model ?? NO_MODEL, ...options })
  agents.push(agent)
  const spec = agent.programSpec((model ?? null) !== null, name, description)
  if (typeof version === 'string') enter(() => spec.setVersion(version))
  for (const subagent of subagents) {
    const added = specOf(`${what}: agents`, subagent, agents)
    enter(() => spec.add(added))
  }
  return spec
}

/**
 * Is the whole program of an agent: does what the command line says, and ends the process with its exit code.
 *
 * @param spec What the agent is; without one, this is the program `agent`.
 * @param args The command line, without the program's name. Default: that of this process.
 * @throws InvalidArgumentError for a wrong spec.
 */
export async function main(spec?: AgentSpec, args: readonly string[] = process.argv.slice(2)): Promise<never> {
  const agents: Agent[] = []
  const made = spec === undefined ? enter(() => native.ProgramSpec.agent(bridge)) : specOf('main', spec, agents)
  const code = await ask<number>(undefined, (ticket) => made.run([spec?.name ?? 'agent', ...args], ticket))
  // What tools have printed into a pipe is written first.
  await new Promise((resolve) => process.stdout.write('', resolve))
  // The callbacks of these agents were to be there until now.
  void agents
  return process.exit(code)
}

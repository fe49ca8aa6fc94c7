/**
 * Finds and loads the native module: in this package, or in the package of this platform.
 */

type Native = typeof import('../native.js')

/** Which option each bundler needs. */
const PAGE = 'https://github.com/agent-loop/agent-loop/blob/main/docs/bundlers.md'

function load(): Native {
  const { platform, arch } = process
  const abis = platform === 'linux' ? ['-gnu', '-musl'] : platform === 'win32' ? ['-msvc'] : ['']
  const problems: string[] = []
  for (const name of abis.map((abi) => `${platform}-${arch}${abi}`)) {
    const found = inThisPackage(name, problems) ?? inItsOwnPackage(name, problems)
    if (found !== undefined) return found
  }
  const name = `${platform}-${arch}${abis[0]}`
  const advice = `install agent-loop-${name}, or build it from source`
  const tried = problems.length > 0 ? problems.join('; ') : advice
  throw new Error(
    `agent-loop: there is no native module for ${platform} on ${arch}: ${tried}. ` +
      'In a bundle (esbuild, Vite, webpack, Next.js), make agent-loop external and install it beside the bundle, or have ' +
      `agent-loop.${name}.node copied: ${PAGE}`,
  )
}

// Bundlers and file tracers find a module only by a literal name, and take it as optional only inside of a `try`: one of those
// below is there.

function inThisPackage(name: string, problems: string[]): Native | undefined {
  try {
    switch (name) {
      case 'darwin-arm64':
        return require('../agent-loop.darwin-arm64.node') as Native
      case 'darwin-x64':
        return require('../agent-loop.darwin-x64.node') as Native
      case 'linux-arm64-gnu':
        return require('../agent-loop.linux-arm64-gnu.node') as Native
      case 'linux-arm64-musl':
        return require('../agent-loop.linux-arm64-musl.node') as Native
      case 'linux-x64-gnu':
        return require('../agent-loop.linux-x64-gnu.node') as Native
      case 'linux-x64-musl':
        return require('../agent-loop.linux-x64-musl.node') as Native
      case 'win32-arm64-msvc':
        return require('../agent-loop.win32-arm64-msvc.node') as Native
      case 'win32-x64-msvc':
        return require('../agent-loop.win32-x64-msvc.node') as Native
    }
  } catch (error) {
    note(`agent-loop.${name}.node`, error, problems)
  }
  return undefined
}

function inItsOwnPackage(name: string, problems: string[]): Native | undefined {
  try {
    switch (name) {
      case 'darwin-arm64':
        return require('agent-loop-darwin-arm64') as Native
      case 'darwin-x64':
        return require('agent-loop-darwin-x64') as Native
      case 'linux-arm64-gnu':
        return require('agent-loop-linux-arm64-gnu') as Native
      case 'linux-arm64-musl':
        return require('agent-loop-linux-arm64-musl') as Native
      case 'linux-x64-gnu':
        return require('agent-loop-linux-x64-gnu') as Native
      case 'linux-x64-musl':
        return require('agent-loop-linux-x64-musl') as Native
      case 'win32-arm64-msvc':
        return require('agent-loop-win32-arm64-msvc') as Native
      case 'win32-x64-msvc':
        return require('agent-loop-win32-x64-msvc') as Native
    }
  } catch (error) {
    note(`agent-loop-${name}`, error, problems)
  }
  return undefined
}

function note(place: string, error: unknown, problems: string[]): void {
  const { code, message } = error as NodeJS.ErrnoException
  // All places but one are expected to be empty.
  if (code !== 'MODULE_NOT_FOUND') problems.push(`${place}: ${message}`)
}

/** @internal */
export const native = load()

/** @internal */
export type NativeAgent = InstanceType<Native['Agent']>
/** @internal */
export type NativeAbortHandle = InstanceType<Native['AbortHandle']>
/** @internal */
export type NativeCall = InstanceType<Native['Call']>
/** @internal */
export type NativeExchange = InstanceType<Native['Exchange']>
/** @internal */
export type NativeFollow = InstanceType<Native['Follow']>
/** @internal */
export type NativeLoop = InstanceType<Native['Loop']>
/** @internal */
export type NativeOpenSession = InstanceType<Native['OpenSession']>
/** @internal */
export type NativeProgramSpec = InstanceType<Native['ProgramSpec']>
/** @internal */
export type NativeRun = InstanceType<Native['Run']>
/** @internal */
export type NativeSession = InstanceType<Native['Session']>
/** @internal */
export type NativeStore = InstanceType<Native['Store']>
/** @internal */
export type NativeTool = InstanceType<Native['Tool']>
/** @internal */
export type NativeUiFrames = InstanceType<Native['UiFrames']>
/** @internal */
export type NativeUiRequest = InstanceType<Native['UiRequest']>

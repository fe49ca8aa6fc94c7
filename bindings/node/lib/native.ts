/**
 * Finds and loads the native module: in this package, or in the package of this platform.
 */

type Native = typeof import('../native.js')

function load(): Native {
  const { platform, arch } = process
  const abis = platform === 'linux' ? ['-gnu', '-musl'] : platform === 'win32' ? ['-msvc'] : ['']
  const problems: string[] = []
  for (const abi of abis) {
    const name = `${platform}-${arch}${abi}`
    for (const place of [`../agent-loop.${name}.node`, `agent-loop-${name}`]) {
      try {
        return require(place) as Native
      } catch (error) {
        const { code, message } = error as NodeJS.ErrnoException
        // All places but one are expected to be empty.
        if (code !== 'MODULE_NOT_FOUND') problems.push(`${place}: ${message}`)
      }
    }
  }
  const advice = `install agent-loop-${platform}-${arch}${abis[0]}, or build it from source`
  const tried = problems.length > 0 ? problems.join('; ') : advice
  throw new Error(`agent-loop: there is no native module for ${platform} on ${arch}: ${tried}`)
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
export type NativeRun = InstanceType<Native['Run']>
/** @internal */
export type NativeTool = InstanceType<Native['Tool']>

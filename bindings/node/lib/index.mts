/**
 * The same for `import`. There is one copy of the code, whichever way it is loaded, so that classes and agents are the same.
 */

export * from './index.js'

/**
 * The entry point for `import`. It loads the same code as `require`, so that classes and agents are the same.
 */

export * from './index.js'

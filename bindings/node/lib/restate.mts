/**
 * The entry point for `import`; see `index.mts`.
 */

export * from './restate.js'

/**
 * The same for `import`; see `index.mts`.
 */

export * from './testing.js'

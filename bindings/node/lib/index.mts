/**
 * The types of `import`, which loads `esm.mts`.
 */

export * from './index.js'

/**
 * The types of `import`; `bundle.mjs` writes its code, which has no native part.
 */

export * from './canonical.js'

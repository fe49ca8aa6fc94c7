// As docs/bundlers.md says, and no more.
export default { serverExternalPackages: ['agent-loop'], output: 'standalone' }

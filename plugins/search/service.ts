/** What search offers to other plugins. */

export { type Code, CodeExpander } from './query/code-expander.ts'

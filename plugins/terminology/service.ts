/** Terminology for other plugins: the codes of a ValueSet, and the ancestors or descendants of a code. */

export { type Code, CodeExpander as Terminology } from '../search/service.ts'

/** What terminology offers to other plugins: which codes a ValueSet holds, which codes lie above or below another. */

export { type Code, CodeExpander as Terminology } from '../search/service.ts'

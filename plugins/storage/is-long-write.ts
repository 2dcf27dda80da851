/** Decides which changes take long in their transaction, so that the database prepares for it (`TransactOptions.isLong`). */
import type { Change } from './change.ts'
import { findingsOf } from './findings.ts'

const MAX_CHANGES = 100 // written and indexed in some twenty milliseconds, where they are small
const MAX_CHARACTERS = 131_072 // of the content of all changes, for the same reason

/** `others`: the number of further things that the transaction does, such as reads. */
export const isLongWrite = (changes: readonly Change[], others = 0): boolean => {
  if (changes.length + others > MAX_CHANGES) return true
  let characters = 0
  for (const change of changes) {
    const content = change.kind === 'delete' ? undefined : change.kind === 'modify' ? change.content : change
    // A thread has read the resource, because it is large. Its text is not made for this.
    if (change.findings !== undefined || findingsOf(content?.resource) !== undefined) return true
    characters += content?.sent.text.length ?? 0
    if (characters > MAX_CHARACTERS) return true
  }
  return false
}

/**
 * Errors are made once, in a table, and thrown by name. What a client may read is the message; what an operator must
 * know is `detail`, which only the log sees. All tables together are the published contract of status codes.
 */
import { format } from 'node:util'
import type { IssueCode } from './issue.ts'
import { ServerError } from './server-error.ts'

/** A row of an error table: call it with the words of its template to get the error to throw. */
export interface ErrorKind {
  (...words: readonly (string | number)[]): ServerError
  /** `plugin/name-of-the-error`, stable. */
  readonly key: string
  readonly status: number
  readonly code: IssueCode
  readonly template: string
}

const COUNTED = /%s \{([^|}]*)\|([^}]*)\}/g
const PLACES = /%s(?: \{[^|}]*\|[^}]*\})?/g

/**
 * `in %s {second|seconds}` with the word 1 → `in %s second`. Done before the words are inserted, because a word may
 * contain braces itself.
 */
const numbered = (template: string, words: readonly (string | number)[]): string => {
  let at = 0
  return template.replace(PLACES, (place) => {
    const word = words[at++]
    return place.replace(COUNTED, (_all, one, several) => `%s ${Number(word) === 1 ? one : several}`)
  })
}

/** The template as documentation shows it: `in … seconds`. */
export const shownTemplate = (template: string): string =>
  template.replace(COUNTED, (_all, _one, several) => `%s ${several}`).replaceAll('%s', '…')

/**
 * A message template with its status and issue code. `%s` stands for a word, `%s {second|seconds}` for a number with
 * the form of the noun that fits it.
 */
export const defineError = (key: string, status: number, code: IssueCode, template: string): ErrorKind =>
  Object.freeze(
    Object.assign(
      (...words: readonly (string | number)[]) => {
        const error = new ServerError(
          key,
          status,
          code,
          words.length === 0 ? template : format(numbered(template, words), ...words),
        )
        return error
      },
      { key, status, code, template },
    ),
  )

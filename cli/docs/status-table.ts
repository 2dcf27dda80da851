/** The table of status codes in kernel/README.md: every error that can be an answer, from the error tables. */
import { type ErrorKind, shownTemplate } from '../../kernel/define-error.ts'
import { row } from './row.ts'

// The error tables also hold faults of the start, with status 500. Only this one of them can be an answer.
const INTERNAL = 'kernel/internal'

export const isErrorKind = (value: unknown): value is ErrorKind =>
  typeof value === 'function' && typeof (value as Partial<ErrorKind>).template === 'string'

export const statusTable = (kinds: readonly ErrorKind[]): string => {
  const answers = kinds
    .filter(({ status, key }) => status !== 500 || key === INTERNAL)
    .sort((a, b) => a.status - b.status || (a.key < b.key ? -1 : 1))
  return [
    row(['Status', 'Error', 'Issue code', 'Message']),
    row(['---', '---', '---', '---']),
    ...answers.map(({ status, key, code, template }) =>
      row([String(status), `\`${key}\``, `\`${code}\``, shownTemplate(template)]),
    ),
  ].join('\n')
}

/**
 * Settings that documents about this server name and this build does not have yet: each is refused with a message of
 * its own.
 */

export interface NotBuilt {
  /** `[export] is a section for $export, which this build does not have yet; remove the section`, or undefined. */
  section(name: string): string | undefined
  /** `name`: without dashes. */
  flag(name: string): string | undefined
}

const EXPORT = '$export'
const TERMINOLOGY = 'terminology of other servers'
const TRACE = 'the trace engine'
const ARCHIVER = 'the SDC archiver'

const SECTIONS: ReadonlyMap<string, string> = new Map([
  ['export', EXPORT],
  ['terminology', TERMINOLOGY],
  ['features', `${TRACE} and ${ARCHIVER}`],
])
const FLAGS: readonly (readonly [RegExp, string])[] = [
  [/^export-dir$/, EXPORT],
  [/^terminology$/, TERMINOLOGY],
  [/^trace-engine$/, TRACE],
  [/^sdc-archiver$/, ARCHIVER],
]

const noticeOf = (name: string, kind: string, purpose: string | undefined): string | undefined =>
  purpose === undefined ? undefined : `${name} is a ${kind} for what this build does not have yet: ${purpose}`

const find = (table: readonly (readonly [RegExp, string])[], name: string): string | undefined =>
  table.find(([pattern]) => pattern.test(name))?.[1]

const removing = (sentence: string | undefined): string | undefined => sentence && `${sentence}; remove it`

export const notBuilt: NotBuilt = {
  section: (name) => removing(noticeOf(`[${name}]`, 'section', SECTIONS.get(name))),
  flag: (name) => removing(noticeOf(`--${name}`, 'flag', find(FLAGS, name))),
}

/** Says in plain words what a scope allows, for the person who decides on it. */

import type { Right } from '../../../kernel/index.ts'
import { decodeFormText } from '../decode-form-text.ts'
import { parseScope } from '../scopes/parse-scope.ts'
import type { ResourceScope } from '../scopes/scope.ts'
import type { Mark, ScopeTexts, Verb } from './scope-texts.ts'

export interface ScopeDescription {
  /** The scope as it was requested. */
  readonly scope: string
  readonly title: string
  readonly details: readonly string[]
  /** What makes the scope sensitive. */
  readonly marks: readonly Mark[]
  /** `basic` is what an app needs to know at all, such as who has signed in; a person can refuse all else. */
  readonly group: 'patient' | 'user' | 'lasting' | 'basic'
}

/** Scopes with a fixed name that a person can refuse. */
const LASTING: ReadonlySet<string> = new Set(['offline_access', 'online_access'])

const CHANGES: readonly (readonly [Right, Verb])[] = [
  ['c', 'add'],
  ['u', 'change'],
  ['d', 'delete'],
]

const verbsOf = (rights: string): readonly Verb[] => {
  const has = (right: Right): boolean => rights.includes(right)
  const reading: readonly Verb[] = has('r') ? [has('s') ? 'view' : 'open'] : has('s') ? ['search'] : []
  return [...reading, ...CHANGES.filter(([right]) => has(right)).map(([, verb]) => verb)]
}

/** `http://loinc.org|8480-6` is shown as `8480-6 (http://loinc.org)`. */
const shownValue = (written: string, texts: ScopeTexts): string => {
  const [, prefix, limit] = /^(ge|le)(\d.*)$/.exec(written) ?? []
  if (prefix !== undefined && limit !== undefined) return prefix === 'ge' ? texts.from(limit) : texts.until(limit)
  const at = written.indexOf('|')
  if (at === -1) return written
  const [system, code] = [written.slice(0, at), written.slice(at + 1)]
  return system === '' || code === '' ? `${system}${code}` : `${code} (${system})`
}

const conditionOf = (condition: string, texts: ScopeTexts): string => {
  const at = condition.indexOf('=')
  const value = condition.slice(at + 1)
  const values = (decodeFormText(value) ?? value).split(',')
  return texts.condition(
    condition.slice(0, at),
    values.map((value) => shownValue(value.trim(), texts)),
  )
}

const marksOf = ({ level, type, rights }: ResourceScope): readonly Mark[] => [
  ...(type === '*' ? (['everything'] as const) : []),
  ...(level === 'user' ? (['many'] as const) : []),
  ...(/[cud]/.test(rights) ? (['changes'] as const) : []),
]

const describeResource = (scope: ResourceScope, texts: ScopeTexts): ScopeDescription => {
  const { text, level, type, rights, conditions } = scope
  const verbs = verbsOf(rights)
  const things = type === '*' ? texts.everything : (texts.types[type] ?? texts.otherType(type))
  const details = verbs.map((verb) => texts.details[verb]).filter((detail) => detail !== '')
  const limits = conditions.map((condition) => conditionOf(condition, texts))
  return {
    scope: text,
    title: `${texts.list(verbs.map((verb) => texts.verbs[verb]))} ${things}`,
    details: limits.length === 0 ? details : [`${texts.onlyWhere} ${limits.join('; ')}`, ...details],
    marks: marksOf(scope),
    group: level === 'user' ? 'user' : 'patient',
  }
}

/** Text that is not a scope is shown as it is. */
export const describeScope = (text: string, texts: ScopeTexts): ScopeDescription => {
  const scope = parseScope(text)
  if (scope?.kind === 'resource') return describeResource(scope, texts)
  const [title, detail] = texts.fixed[text] ?? [text, '']
  return {
    scope: text,
    title,
    details: detail === '' ? [] : [detail],
    marks: text === 'offline_access' ? ['lasting'] : [],
    group: LASTING.has(text) ? 'lasting' : 'basic',
  }
}

/** Reduces a requested scope to what the client may have. */
import type { Right, Rights } from '../../../kernel/index.ts'
import { VERSION_1 } from './parse-scope.ts'
import type { ResourceScope } from './scope.ts'

const ORDER: readonly Right[] = ['c', 'r', 'u', 'd', 's']
const rightsWhere = (holds: (right: Right) => boolean): Rights => ORDER.filter(holds).join('') as Rights

interface Part {
  readonly type: string
  readonly conditions: readonly string[]
  readonly rights: Rights
}

/** What both scopes cover; undefined when that is nothing. */
const common = (asked: ResourceScope, allowed: ResourceScope): Part | undefined => {
  if (asked.level !== allowed.level) return undefined
  if (asked.type !== allowed.type && asked.type !== '*' && allowed.type !== '*') return undefined
  const rights = rightsWhere((right) => asked.rights.includes(right) && allowed.rights.includes(right))
  if (rights === '') return undefined
  const type = asked.type === '*' ? allowed.type : asked.type
  return { type, rights, conditions: [...new Set([...asked.conditions, ...allowed.conditions])] }
}

/** Merges parts that have the same type and conditions, and adds up their rights. */
const joined = (parts: readonly Part[]): readonly Part[] => {
  const found = new Map<string, Part>()
  for (const part of parts) {
    const key = [part.type, ...[...part.conditions].sort()].join('&')
    const held = found.get(key)?.rights ?? ''
    found.set(key, { ...part, rights: rightsWhere((right) => held.includes(right) || part.rights.includes(right)) })
  }
  return [...found.values()]
}

/**
 * Writes a part in the version of the requested scope. Version 1 cannot express conditions and some combinations of
 * rights; these are dropped.
 */
const written = ({ level, version }: ResourceScope, { type, conditions, rights }: Part): readonly string[] => {
  const scope = `${level}/${type}.`
  if (version === 2) return [`${scope}${rights}${conditions.length === 0 ? '' : `?${conditions.join('&')}`}`]
  if (conditions.length > 0) return []
  if (rights === VERSION_1.get('*')) return [`${scope}*`]
  return [...VERSION_1].flatMap(([word, of]) => ([...of].every((one) => rights.includes(one)) ? [scope + word] : []))
}

/** The requested scope as it is when all of it is allowed, else the allowed parts in the same version. */
export const narrowScope = (asked: ResourceScope, allowed: readonly ResourceScope[]): readonly string[] => {
  const parts = joined(allowed.flatMap((one) => common(asked, one) ?? []))
  const isWhole = ({ type, conditions, rights }: Part): boolean =>
    type === asked.type && rights === asked.rights && conditions.length === new Set(asked.conditions).size
  return parts.some(isWhole) ? [asked.text] : parts.flatMap((part) => written(asked, part))
}

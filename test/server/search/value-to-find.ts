/** What a resource is searched by, from an element that it has. */
import type { IndexKind } from '../../../plugins/search/definition/kind.ts'

const escaped = (text: unknown): string => String(text).replace(/[\\,$|]/g, '\\$&')
const token = (system: unknown, code: unknown): string | undefined =>
  typeof code === 'string' || typeof code === 'boolean' || typeof code === 'number'
    ? typeof system === 'string'
      ? `${escaped(system)}|${escaped(code)}`
      : escaped(code)
    : undefined

/** A search value that a value of a resource should be found by. */
export const toValue = (kind: IndexKind, given: any): string | undefined => {
  const extension = Object.keys(given ?? {}).find((member) => /^value[A-Z]/.test(member))
  const value = given?.url !== undefined && extension !== undefined ? given[extension] : given
  const isObject = typeof value === 'object'
  switch (kind) {
    case 'token':
      if (!isObject) return token(undefined, value)
      if (value.coding !== undefined) return token(value.coding[0].system, value.coding[0].code)
      return token(
        /^(phone|fax|email|pager|url|sms|other)$/.test(value.system) ? undefined : value.system,
        value.code ?? value.value,
      )
    case 'reference': {
      const reference = isObject ? (value.reference ?? (value.id && `${value.resourceType}/${value.id}`)) : value
      return typeof reference === 'string' && !reference.startsWith('#') ? escaped(reference) : undefined
    }
    case 'date':
      if (!isObject) return value
      if (value.start !== undefined) return `ge${value.start}`
      if (value.end !== undefined) return `le${value.end}`
      return value.event?.[0] ?? (value.repeat?.boundsPeriod?.start && `ge${value.repeat.boundsPeriod.start}`)
    case 'string': {
      const text = isObject
        ? (value.family ??
          value.given?.[0] ??
          value.text ??
          value.city ??
          value.line?.[0] ??
          value.coding?.[0]?.display)
        : value
      return typeof text === 'string' && text.trim() !== '' ? escaped(text) : undefined
    }
    case 'quantity': {
      if (!isObject) return String(value)
      if (value.low !== undefined) return `ge${value.low.value}`
      if (value.data !== undefined || value.value === undefined) return undefined
      const number =
        value.comparator === undefined ? value.value : `${value.comparator.startsWith('<') ? 'lt' : 'gt'}${value.value}`
      return value.system === undefined
        ? String(number)
        : `${number}|${escaped(value.system)}|${escaped(value.code ?? '')}`
    }
    case 'uri':
      return escaped(value)
  }
}

/** JSON Patch, RFC 6902, with pointers of RFC 6901. */
import { copyExact, equalExact, isObject } from '../../model/service.ts'
import { PatchImmutable, PatchMalformed, PatchPath, PatchTestFailed, PatchTooLarge } from './errors.ts'
import { removeEmpty } from './remove-empty.ts'

export const MAX_OPERATIONS = 1_000
// Of all copies in a patch together, because repeated copies can grow exponentially.
const MAX_COPIED_CHARS = 4 * 1024 * 1024

type Pointer = readonly string[]

export type JsonOperation =
  | { readonly op: 'add' | 'replace' | 'test'; readonly path: Pointer; readonly value: unknown }
  | { readonly op: 'remove'; readonly path: Pointer }
  | { readonly op: 'move' | 'copy'; readonly path: Pointer; readonly from: Pointer }

const show = (pointer: Pointer): string =>
  pointer
    .map((token) => `/${token.replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
    .slice(0, 200)

const readPointer = (value: unknown, at: number, member: string): Pointer => {
  if (typeof value !== 'string') throw PatchMalformed(`operation ${at} has no ${member}`)
  if (value === '') return []
  if (!value.startsWith('/') || /~(?![01])/.test(value))
    throw PatchMalformed(`the ${member} of operation ${at} is no JSON pointer`)
  return value
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'))
}

const readOperation = (one: unknown, at: number): JsonOperation => {
  if (!isObject(one)) throw PatchMalformed(`operation ${at} is no object`)
  const { op } = one
  const path = readPointer(one.path, at, 'path')
  switch (op) {
    case 'add':
    case 'replace':
    case 'test':
      if (!Object.hasOwn(one, 'value')) throw PatchMalformed(`operation ${at} has no value`)
      return { op, path, value: one.value }
    case 'remove':
      return { op, path }
    case 'move':
    case 'copy':
      return { op, path, from: readPointer(one.from, at, 'from') }
    default:
      throw PatchMalformed(`the op of operation ${at} is none of add, remove, replace, move, copy and test`)
  }
}

/** Throws 400 for anything but a JSON Patch, 413 for too many operations. `value` is the result of parseExact. */
export const readJsonPatch = (value: unknown): readonly JsonOperation[] => {
  if (!Array.isArray(value)) throw PatchMalformed('it is a list of operations')
  if (value.length > MAX_OPERATIONS)
    throw PatchTooLarge(`it has ${value.length} operations, at most ${MAX_OPERATIONS} are taken`)
  return value.map(readOperation)
}

/** Elements that only the server sets. */
const IMMUTABLE = ['/resourceType', '/id', '/meta/versionId', '/meta/lastUpdated']

const checkImmutable = ({ op, path, ...rest }: JsonOperation): void => {
  if (op === 'test') return
  const touched = op === 'move' ? [path, (rest as { from: Pointer }).from] : [path]
  for (const one of touched.map(show))
    for (const own of IMMUTABLE)
      if (one === own || one.startsWith(`${own}/`)) throw PatchImmutable(own.slice(1).replace('/', '.'))
}

const INDEX = /^(0|[1-9]\d{0,8})$/
const NO_INDEX = 'items of a list are 0, 1, 2, without leading zeros'
// Names that every object inherits: assigning one would change more than the resource.
const INHERITED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), 'prototype'])

/**
 * Applies a patch to `document`, the result of parseExact, and changes it in place. Returns the patched document.
 * Throws 422, 413.
 */
export const applyJsonPatch = (document: unknown, operations: readonly JsonOperation[]): unknown => {
  let root = document
  let copied = 0
  const emptied = new Set<unknown>()

  for (const [number, operation] of operations.entries()) {
    const fail = (path: Pointer, why: string) => PatchPath(number, show(path), why)

    const child = (holder: unknown, token: string, path: Pointer): unknown => {
      if (Array.isArray(holder)) {
        if (!INDEX.test(token)) throw fail(path, NO_INDEX)
        if (Number(token) >= holder.length) throw fail(path, 'the list has no such item')
        return holder[Number(token)]
      }
      if (!isObject(holder) || !Object.hasOwn(holder, token)) throw fail(path, 'there is no such element')
      return holder[token]
    }
    const find = (path: Pointer): unknown => path.reduce((holder, token) => child(holder, token, path), root)
    const holderOf = (path: Pointer): unknown => find(path.slice(0, -1))

    const remove = (path: Pointer): unknown => {
      const token = path.at(-1)
      if (token === undefined) throw fail(path, 'the whole resource cannot be removed')
      const holder = holderOf(path)
      const value = child(holder, token, path)
      if (Array.isArray(holder)) holder.splice(Number(token), 1)
      else delete (holder as Record<string, unknown>)[token]
      emptied.add(holder)
      return value
    }
    const add = (path: Pointer, value: unknown): void => {
      const token = path.at(-1)
      if (token === undefined) {
        root = value
        return
      }
      const holder = holderOf(path)
      if (Array.isArray(holder)) {
        if (token !== '-' && !INDEX.test(token)) throw fail(path, `${NO_INDEX}, or - behind the last`)
        const index = token === '-' ? holder.length : Number(token)
        if (index > holder.length) throw fail(path, 'the list is shorter')
        holder.splice(index, 0, value)
      } else if (isObject(holder)) {
        if (INHERITED.has(token)) throw fail(path, 'no element has that name')
        holder[token] = value
      } else throw fail(path, 'it is inside of a value that has no parts')
    }

    checkImmutable(operation)
    const { path } = operation
    switch (operation.op) {
      case 'test':
        if (!equalExact(find(path), operation.value)) throw PatchTestFailed(number, show(path))
        break
      case 'add':
        add(path, copyExact(operation.value))
        break
      case 'remove':
        remove(path)
        break
      case 'replace': {
        const value = copyExact(operation.value)
        const token = path.at(-1)
        if (token === undefined) root = value
        else {
          const holder = holderOf(path)
          child(holder, token, path)
          ;(holder as Record<string, unknown>)[token] = value
        }
        break
      }
      case 'move': {
        const { from } = operation
        if (from.length < path.length && from.every((token, at) => token === path[at]))
          throw fail(path, 'an element cannot be moved into itself')
        add(path, remove(from))
        break
      }
      case 'copy': {
        const value = find(operation.from)
        copied += JSON.stringify(value)?.length ?? 0
        if (copied > MAX_COPIED_CHARS) throw PatchTooLarge('its copies grow without end')
        add(path, copyExact(value))
        break
      }
    }
  }
  removeEmpty(root, emptied)
  return root
}

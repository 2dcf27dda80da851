/** JSON Merge Patch. RFC 7396. */
import { copyExact, equalExact, isObject } from '../../model/service.ts'
import { PatchImmutable, PatchMalformed } from './errors.ts'
import { removeEmpty } from './remove-empty.ts'

type Exact = Record<string, unknown>

/** Throws 400 for anything but an object. `value` is the result of parseExact. */
export const readMergePatch = (value: unknown): Exact => {
  if (!isObject(value)) throw PatchMalformed('it is an object with the members to change')
  return value
}

const checkImmutable = (before: Exact, patch: Exact, names: readonly string[], path: string): void => {
  for (const name of names)
    if (Object.hasOwn(patch, name) && !equalExact(before[name], patch[name])) throw PatchImmutable(`${path}${name}`)
}

/** Applies a patch to `document`, the result of parseExact, and changes it in place. Throws 422. */
export const applyMergePatch = (document: Exact, patch: Exact): Exact => {
  checkImmutable(document, patch, ['resourceType', 'id'], '')
  if (isObject(patch.meta))
    checkImmutable(isObject(document.meta) ? document.meta : {}, patch.meta, ['versionId', 'lastUpdated'], 'meta.')
  const emptied = new Set<unknown>()
  const merge = (target: Exact, changes: Exact): Exact => {
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) {
        delete target[name]
        emptied.add(target)
      } else if (isObject(value)) {
        const own = Object.hasOwn(target, name) ? target[name] : undefined
        const made = merge(isObject(own) ? own : {}, value)
        if (made !== own) target[name] = made
      } else target[name] = copyExact(value)
    }
    return target
  }
  const patched = merge(document, patch)
  removeEmpty(patched, emptied)
  return patched
}

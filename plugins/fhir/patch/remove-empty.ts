/** Removes elements that a patch has left empty, because FHIR allows no empty objects and lists. */
import { isObject } from '../../model/service.ts'

const isEmpty = (value: unknown): boolean =>
  Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0

/** Removes from `root` what is empty and in `emptied`, and every parent that becomes empty thereby. */
export const removeEmpty = (root: unknown, emptied: ReadonlySet<unknown>): void => {
  /** Returns true when the value itself must be removed from its parent. */
  const visit = (value: unknown): boolean => {
    let took = emptied.has(value)
    if (Array.isArray(value))
      for (let at = value.length - 1; at >= 0; at -= 1) {
        if (!visit(value[at])) continue
        value.splice(at, 1)
        took = true
      }
    else if (isObject(value))
      for (const key of Object.keys(value)) {
        if (!visit(value[key])) continue
        delete value[key]
        took = true
      }
    return took && isEmpty(value)
  }
  if (emptied.size > 0) visit(root)
}

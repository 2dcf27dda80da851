import { type Elements, NotLoaded, type ReferenceWalker } from '../../model/service.ts'
import { relinkPatched, resolveFrom } from '../bundle/patch-links.ts'
import { readPatch, readPatchText } from '../patch/patch.ts'
import type { Task } from './task.ts'
import { versionTextOf } from './version-text.ts'

/**
 * The patched JSON; undefined when the patch changes nothing. The patch is applied again for each type whose elements
 * have to be loaded first.
 */
export const createPatchedText = (elements: Elements, referenceWalker: ReferenceWalker) => {
  return async ({
    type,
    form,
    patch,
    links: source,
    before,
  }: Extract<Task, { task: 'patch' }>): Promise<string | undefined> => {
    const loaded = new Set<string>()
    const text = readPatchText(patch)
    const current = before === undefined ? '' : versionTextOf(before)
    for (;;)
      try {
        const made = readPatch(elements, type, form, text)(current)
        if (made === undefined || source === undefined) return made
        return relinkPatched(referenceWalker, resolveFrom(source), made, current)
      } catch (error) {
        if (!(error instanceof NotLoaded) || loaded.has(error.type)) throw error
        loaded.add(error.type)
        await elements.load(error.type)
      }
  }
}

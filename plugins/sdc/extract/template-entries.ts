/** The entries that templates make. */
import type { Variables } from '../expressions/evaluator.ts'
import { extensionsOf, extensionValue, partOf, URLS } from '../questionnaire/extensions.ts'
import { containedIn } from '../questionnaire/items.ts'
import { isObject, type Json, objectsIn, textOf } from '../questionnaire/json.ts'
import { type EntryParts, entryAsked, entryOf } from './bundle-entry.ts'
import type { ExtractPlace } from './definition-based.ts'
import { createFillTemplate } from './template-based.ts'
import { withoutEmpty } from './without-empty.ts'

export const createTemplateEntries = (parts: EntryParts, questionnaire: Json, add: (entry: Json) => void) => {
  const { issues } = parts
  const fillTemplate = createFillTemplate(parts)
  /** Of the templates that an item or the Questionnaire names. */
  const ofItem = async ({ definition, node, variables }: ExtractPlace): Promise<void> => {
    for (const extension of extensionsOf(definition, URLS.templateExtract)) {
      const reference = partOf(extension, 'template')
      const template = containedIn(questionnaire, isObject(reference) ? reference.reference : undefined)
      if (template === undefined) {
        issues.add('warning', 'not-found', 'A template is not contained in the Questionnaire.')
        continue
      }
      const { id: _id, ...bare } = template
      for (const made of fillTemplate(bare, node, variables)) {
        const kept = withoutEmpty(made)
        if (isObject(kept)) add(await entryAsked(parts, extension, kept, node, variables))
      }
    }
  }
  /** Of the Bundle that is a template for all. */
  const ofBundle = async (node: unknown, variables: Variables): Promise<void> => {
    const reference = extensionValue(questionnaire, URLS.templateExtractBundle)
    if (!isObject(reference)) return
    const template = containedIn(questionnaire, reference.reference)
    if (template?.resourceType !== 'Bundle') {
      issues.add('warning', 'not-found', 'The template is no Bundle that is contained in the Questionnaire.')
      return
    }
    for (const bundle of fillTemplate(template, node, variables))
      for (const entry of objectsIn(bundle.entry)) {
        const kept = withoutEmpty(entry)
        if (!isObject(kept) || !isObject(kept.resource)) continue
        const { fullUrl, request, resource } = kept
        const made = await entryOf(parts, resource, textOf(fullUrl))
        add(isObject(request) ? { ...made, request } : made)
      }
  }
  return { ofItem, ofBundle }
}

/**
 * Replaces links in the text of a resource and in its parsed form. All other bytes of the text stay as they were sent.
 * https://hl7.org/fhir/R4/http.html#trules
 */

import { applyEdits, endOfValue, keyAt, skipSpace, type TextEdit } from '../json/ranges.ts'
import { endOfString } from '../json/scan.ts'
import type { ReferenceWalker, WalkContext, WalkNode } from './reference-walker.ts'

/** What holds the link: a Reference, an element of type uri or url, or a narrative. */
export type ReferenceKind = 'reference' | 'uri' | 'narrative'

/** Returns the link that replaces `value`; undefined leaves it unchanged. */
export type Resolve = (value: string, kind: ReferenceKind) => string | undefined

/** The same with the location of the link: `value` is `holder[key]` in the parsed resource. */
export type ResolveAt = (
  value: string,
  kind: ReferenceKind,
  holder: Record<string, unknown> | unknown[],
  key: string | number,
) => string | undefined

// `[^<]*` also passes over `>` inside of attribute values; a `<` cannot be in one, so no text is matched twice.
const LINKING_TAG = /<(?:a|img)\s[^<]*/gi
const ATTRIBUTE = /(\s(?:href|src)\s*=\s*)("[^"<]*"|'[^'<]*')/gi

const unescapeXml = (text: string): string =>
  text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
const escapeXml = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&#39;')

/** The narrative with the links in `<a href>` and `<img src>` replaced; an equal string if there are none. */
const rewriteNarrative = (div: string, resolve: Resolve): string =>
  div.replace(LINKING_TAG, (tag) =>
    tag.replace(ATTRIBUTE, (whole, before: string, quoted: string) => {
      const replaced = resolve(unescapeXml(quoted.slice(1, -1)), 'narrative')
      return replaced === undefined ? whole : `${before}${quoted[0]}${escapeXml(replaced)}${quoted[0]}`
    }),
  )

/** Whether any link is to be replaced. Walks the parsed resource, which takes a tenth of the time of walking its text. */
const holdsReplaced = (walker: ReferenceWalker, resource: Record<string, unknown>, resolve: ResolveAt): boolean => {
  const referenceContext = walker.context('Reference') ?? NOTHING
  const extensionContext = walker.context('Extension')
  const inValue = (
    holder: Record<string, unknown> | unknown[],
    key: string | number,
    node: WalkNode,
    inside: WalkContext,
  ): boolean => {
    const value = (holder as Record<string | number, unknown>)[key]
    if (typeof value === 'string') {
      if (node.kind === 'uri') return (resolve(value, 'uri', holder, key) ?? value) !== value
      if (node.kind !== 'xhtml') return false
      return rewriteNarrative(value, (link, kind) => resolve(link, kind, holder, key)) !== value
    }
    if (typeof value !== 'object' || value === null) return false
    if (Array.isArray(value)) {
      let found = false
      for (let at = 0; at < value.length; at += 1) if (inValue(value, at, node, inside)) found = true
      return found
    }
    const object = value as Record<string, unknown>
    if (node.kind === 'reference') {
      const { reference } = object
      const isReplaced =
        typeof reference === 'string' && resolve(reference, 'reference', object, 'reference') !== undefined
      return inObject(object, referenceContext) || isReplaced
    }
    if (node.kind === 'context')
      return inObject(object, node.context === extensionContext ? walker.extension(object, inside) : node.context)
    const context =
      node.kind === 'resource' && typeof object.resourceType === 'string'
        ? walker.context(object.resourceType)
        : undefined
    return context !== undefined && inObject(object, context)
  }
  // Visits all links even after one was found: `resolve` may collect the links it is called with.
  const inObject = (object: Record<string, unknown>, context: WalkContext): boolean => {
    let found = false
    for (const key in object) {
      const node = walker.member(context, key)
      if (node !== undefined && inValue(object, key, node, context)) found = true
    }
    return found
  }
  const context = walker.context(String(resource.resourceType))
  return context !== undefined && inObject(resource, context)
}

const NOTHING: WalkContext = { name: '', members: new Map() }
const QUOTE = 34
const COMMA = 44
const CLOSE_ARRAY = 93

/** Returns the text with links replaced. `resource`, its parsed form, is changed in the same way. */
export const rewriteReferences = (
  walker: ReferenceWalker,
  text: string,
  resource: Record<string, unknown>,
  resolve: ResolveAt,
): string => {
  if (!holdsReplaced(walker, resource, resolve)) return text
  const edits: TextEdit[] = []
  const put = (
    holder: Record<string, unknown> | unknown[],
    key: string | number,
    span: [number, number],
    to: string,
  ) => {
    ;(holder as Record<string | number, unknown>)[key] = to
    edits.push({ start: span[0], end: span[1], text: JSON.stringify(to) })
  }
  /** Walks the value at `at` of the text, whose parsed form is `holder[key]`. Returns the index after it. */
  const walkValue = (
    at: number,
    holder: Record<string, unknown> | unknown[],
    key: string | number,
    node: WalkNode,
    inside: WalkContext,
  ): number => {
    const value = (holder as Record<string | number, unknown>)[key]
    if (Array.isArray(value)) return walkArray(at, value, node, inside)
    if (typeof value === 'string') {
      const end = endOfString(text, at)
      const replaced =
        node.kind === 'uri'
          ? resolve(value, 'uri', holder, key)
          : node.kind === 'xhtml'
            ? rewriteNarrative(value, (link, kind) => resolve(link, kind, holder, key))
            : undefined
      if (replaced !== undefined && replaced !== value) put(holder, key, [at, end], replaced)
      return end
    }
    if (typeof value !== 'object' || value === null) return endOfValue(text, at)
    const object = value as Record<string, unknown>
    if (node.kind === 'reference') return walkObject(at, object, referenceContext, true)
    if (node.kind === 'context')
      return walkObject(at, object, node.context === extensionContext ? walker.extension(object, inside) : node.context)
    const context =
      node.kind === 'resource' && typeof object.resourceType === 'string'
        ? walker.context(object.resourceType)
        : undefined
    return context === undefined ? endOfValue(text, at) : walkObject(at, object, context)
  }
  const walkArray = (start: number, items: unknown[], node: WalkNode, inside: WalkContext): number => {
    let at = skipSpace(text, start + 1)
    if (text.charCodeAt(at) === CLOSE_ARRAY) return at + 1
    for (let n = 0; ; n += 1) {
      at = skipSpace(text, walkValue(at, items, n, node, inside))
      if (text.charCodeAt(at) !== COMMA) return at + 1
      at = skipSpace(text, at + 1)
    }
  }
  const walkObject = (
    start: number,
    object: Record<string, unknown>,
    context: WalkContext,
    isReference = false,
  ): number => {
    let at = skipSpace(text, start + 1)
    while (text.charCodeAt(at) === QUOTE) {
      const keyEnd = endOfString(text, at)
      const key = keyAt(text, at, keyEnd)
      const valueAt = skipSpace(text, skipSpace(text, keyEnd) + 1)
      const node = walker.member(context, key)
      let end: number
      if (isReference && key === 'reference' && typeof object.reference === 'string') {
        end = endOfString(text, valueAt)
        const replaced = resolve(object.reference, 'reference', object, 'reference')
        if (replaced !== undefined) put(object, key, [valueAt, end], replaced)
      } else end = node === undefined ? endOfValue(text, valueAt) : walkValue(valueAt, object, key, node, context)
      at = skipSpace(text, end)
      if (text.charCodeAt(at) !== COMMA) break
      at = skipSpace(text, at + 1)
    }
    return at + 1
  }
  const referenceContext = walker.context('Reference') ?? NOTHING
  const extensionContext = walker.context('Extension')
  const context = walker.context(String(resource.resourceType))
  if (context === undefined) return text
  walkObject(skipSpace(text, 0), resource, context)
  return edits.length === 0 ? text : applyEdits(text, edits)
}

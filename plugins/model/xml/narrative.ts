/**
 * The narrative: XHTML in XML, and its text in JSON. The text is what was sent, so that it comes back as it was, unless it
 * depends on what stands around it: a prefix or a CDATA section. https://hl7.org/fhir/R4/narrative.html
 */
import type { Tag } from './strict-parser.ts'
import { escapeAttribute, escapeText, XHTML_NAMESPACE } from './text.ts'

export interface Narrative {
  open(tag: Tag): void
  /** True when the narrative itself was closed. */
  close(tag: Tag): boolean
  text(text: string, isCdata: boolean): void
  comment(text: string): void
  /** The XHTML for JSON. `raw` is its text as sent. */
  written(raw: string): string
}

const refuse = (): never => {
  throw new Error('the parser has let a character through that XML cannot hold')
}

/** `root` is its `div`, which was opened. */
export const createNarrative = (root: Tag): Narrative => {
  let depth = 0
  let dependsOnContext = root.attributes.xmlns === undefined
  const parts: string[] = []
  let isStartOpen = false
  const endStart = (): void => {
    if (isStartOpen) parts.push('>')
    isStartOpen = false
  }
  const narrative: Narrative = {
    open(tag) {
      endStart()
      depth += 1
      if (tag.prefix !== '') dependsOnContext = true
      parts.push(`<${tag.local}`)
      if (depth === 1) parts.push(` xmlns="${XHTML_NAMESPACE}"`)
      for (const { name, prefix, value } of Object.values(tag.attributes)) {
        if (prefix !== '' && prefix !== 'xml' && prefix !== 'xmlns') dependsOnContext = true
        if (prefix === 'xmlns' || name === 'xmlns') continue
        parts.push(` ${name}="${escapeAttribute(value, refuse)}"`)
      }
      isStartOpen = true
    },
    close(tag) {
      depth -= 1
      if (tag.isSelfClosing) parts.push('/>')
      else {
        endStart()
        parts.push(`</${tag.local}>`)
      }
      isStartOpen = false
      return depth === 0
    },
    text(text, isCdata) {
      endStart()
      if (isCdata) dependsOnContext = true
      parts.push(escapeText(text))
    },
    comment(text) {
      endStart()
      parts.push(`<!--${text}-->`)
    },
    written: (raw) => (dependsOnContext ? parts.join('') : raw),
  }
  narrative.open(root)
  return narrative
}

/** Damages a document so that it is certainly no resource any more, in a way that a seed decides. */
import { seeded } from '../../support/random-code-system.ts'

const GOOD = `<?xml version="1.0" encoding="UTF-8"?>
<Patient xmlns="http://hl7.org/fhir">
  <id value="p1"/>
  <text><status value="generated"/><div xmlns="http://www.w3.org/1999/xhtml"><p>a</p></div></text>
  <contained><Organization><id value="o1"/><name value="Org"/></Organization></contained>
  <extension url="http://example.org/e"><valueDecimal value="1.00"/></extension>
  <identifier><system value="urn:s"/><value value="1"/></identifier>
  <active value="true"/>
  <name><family value="Chalmers"/><given value="Peter"/><given value="James"/></name>
  <gender value="male"/>
  <birthDate value="1974-12-25"/>
  <multipleBirthInteger value="2"/>
  <managingOrganization><reference value="#o1"/></managingOrganization>
</Patient>`

interface Range {
  readonly start: number
  readonly end: number
}

const rangesOf = (pattern: RegExp): readonly Range[] =>
  [...GOOD.matchAll(pattern)].map((found) => ({ start: found.index, end: found.index + found[0].length }))

// Not of the declaration, and not inside of the narrative, where other rules apply.
const TAGS = rangesOf(/<\/?[A-Za-z][^>]*>/g).filter(({ start }) => !/<\/?(p|div)\b/.test(GOOD.slice(start, start + 5)))
const VALUES = rangesOf(/ value="[^"]*"/g)
const put = (at: number, end: number, text: string): string => GOOD.slice(0, at) + text + GOOD.slice(end)

export const createMutator = (seed: number): (() => string) => {
  const draw = seeded(seed)
  const below = (most: number): number => Math.floor(draw() * most)
  const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T
  const letters = (): string => Array.from({ length: 3 + below(8) }, () => String.fromCharCode(97 + below(26))).join('')
  const closing = (): readonly Range[] => TAGS.filter(({ start }) => GOOD[start + 1] === '/')
  const opening = (): readonly Range[] => TAGS.filter(({ start }) => GOOD[start + 1] !== '/')
  const kinds: readonly (() => string)[] = [
    // Cut anywhere behind the declaration and before its last character.
    () => GOOD.slice(0, 45 + below(GOOD.length - 46)),
    // An end tag is missing.
    () => {
      const { start, end } = pick(closing())
      return put(start, end, '')
    },
    // An element that no type has, beside any tag.
    () => {
      const { end } = pick(TAGS.slice(0, -1))
      return put(end, end, `<x${letters()} value="1"/>`)
    },
    // An attribute that no element has.
    () => {
      const { start } = pick(opening())
      const at = GOOD.slice(start).search(/[\s/>]/) + start
      return put(at, at, ` x${letters()}="1"`)
    },
    () => {
      const { start, end } = pick(VALUES)
      return put(start, end, ' value=""')
    },
    () => {
      const { start, end } = pick(VALUES)
      return put(start, end, '')
    },
    // Text where none may stand.
    () => {
      const { end } = pick(TAGS.filter(({ start, end: last }) => GOOD[last - 2] !== '/' && GOOD[start + 1] !== '?'))
      return put(end, end, letters())
    },
    () => {
      const { end } = pick(TAGS)
      return put(end, end, `<?${letters()} x?>`)
    },
    () =>
      put(GOOD.indexOf('<Patient'), GOOD.indexOf('<Patient'), `<!DOCTYPE ${letters()} [<!ENTITY ${letters()} "y">]>`),
    () => {
      const { start } = pick(VALUES)
      return put(start + 8, start + 8, pick(['&', '<', `&${letters()};`, '\u0000', '\u000b', '&#1;', '\ufffe']))
    },
    // Two different lines of the resource change places, so that the order is wrong.
    () => {
      const lines = GOOD.split('\n')
      const [one, other] = [3 + below(4), 8 + below(4)]
      const changed = lines.map((line, at) => (at === one ? lines[other] : at === other ? lines[one] : line))
      return changed.join('\n')
    },
    // An element that does not repeat stands twice.
    () => {
      const line = pick(
        GOOD.split('\n').filter((one) => /<(id|active|gender|birthDate|multipleBirthInteger) /.test(one)),
      )
      return GOOD.replace(line, `${line}\n${line}`)
    },
    () => GOOD.replace('http://hl7.org/fhir"', `http://${letters()}"`),
    () => GOOD.replace(pick(['<Patient ', '<family ', '<Organization>', '<gender ']), '<Xyz '),
  ]
  return () => pick(kinds)()
}

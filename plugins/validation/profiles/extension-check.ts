/** Checks an extension against its definition, if that is installed: where it stands, how often, and its content. */
import { type FieldType, typeUrl } from '../../model/service.ts'
import { quoted } from '../structure/structure-issues.ts'
import type { ProfileCheck, ProfileChecker } from './check-profile.ts'
import type { ElementLocation, LocationPath } from './element-location.ts'
import { type Holder, isAllowedOn } from './extension-context.ts'
import type { ExtensionDefinitions } from './extension-definitions.ts'
import type { ProfileTree } from './tree.ts'

type Json = Record<string, unknown>

export const EXTENSION = typeUrl('Extension')
export const EXTENSION_TYPE: FieldType = { kind: 'complex', url: EXTENSION, suffix: 'Extension' }

/** The resource that is being walked, and its container (`root`), which is the resource itself if it is not contained. */
export interface ExtensionScope {
  readonly resource: unknown
  readonly root: Json
  readonly report: ProfileCheck['emit']
}

/** `name`: that of the list, extension or modifierExtension. `count`: how many with the same URL the list has up to this one. */
export type ExtensionCheck = (
  value: Json,
  name: string,
  at: LocationPath,
  holder: Holder,
  scope: ExtensionScope,
  count: number,
) => void

const ABSOLUTE = /^[A-Za-z][A-Za-z0-9+.-]*:/

/** A part that an example of R4 uses although its definition has another name for it. */
const USED_BY_R4: Readonly<Record<string, string>> = {
  'http://hl7.org/fhir/StructureDefinition/hla-genotyping-results-glstring': 'uri',
}

/** The URLs of the extensions that a complex extension is made of: `code`, `period`. */
const partsOf = ({ root }: ProfileTree): readonly string[] =>
  root.children
    .filter(({ name }) => name === 'extension')
    .flatMap(({ slices }) => slices)
    .map(({ slice, children }) => String(children.find(({ name }) => name === 'url')?.fixed ?? slice))

export const createExtensionCheck =
  (
    definitionOf: ExtensionDefinitions['definitionOf'],
    { visit, shapeOf }: Pick<ProfileChecker, 'visit' | 'shapeOf'>,
  ): ExtensionCheck =>
  (value, name, at, holder, scope, count) => {
    const url = String(value.url)
    const report = (text: string): void => scope.report('error', 'structure', at, text, url)
    const around = holder.url === undefined || ABSOLUTE.test(url) ? undefined : definitionOf(holder.url)?.tree
    if (around !== undefined) {
      const parts = partsOf(around)
      if (parts.length > 0 && !parts.includes(url) && USED_BY_R4[around.url] !== url)
        report(`the extension ${holder.url} has no part ${quoted(url)}; its definition knows ${parts.join(', ')}`)
      return
    }
    const definition = definitionOf(url)
    if (definition?.tree === undefined) return
    const { contexts, isModifier, max } = definition
    if (!isAllowedOn(url, contexts, holder)) {
      const allowed = contexts.map(({ expression }) => expression).join(', ')
      report(`the extension ${url} may not stand on ${holder.url ?? holder.type}; its definition allows ${allowed}`)
    }
    if (isModifier !== (name === 'modifierExtension'))
      report(`the extension ${url} belongs into ${isModifier ? 'modifierExtension' : 'extension'}, not into ${name}`)
    if (count > max) report(`the extension ${url} is there ${count} times, and one element may have ${max} of it`)
    const location: ElementLocation = {
      value,
      sibling: undefined,
      type: EXTENSION_TYPE,
      shape: shapeOf(EXTENSION)!,
      path: at,
    }
    visit(definition.tree, location, {
      profile: url,
      resource: scope.resource,
      root: scope.root,
      depth: 0,
      emit: scope.report,
    })
  }

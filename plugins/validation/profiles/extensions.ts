/**
 * Checks all extensions of a resource against their definitions: those of resources, elements and primitives, also in contained
 * resources and in other extensions. An extension whose definition is not installed is ignored.
 * https://hl7.org/fhir/R4/extensibility.html
 */

import type { ElementBlock, Field, FieldType } from '../../model/service.ts'
import type { FindDefinition } from '../rules/value-set.ts'
import type { ProfileCheck, ProfileChecker } from './check-profile.ts'
import {
  contentOf,
  type ElementContent,
  type ElementLocation,
  type LocationPath,
  typeNameOf,
} from './element-location.ts'
import { createExtensionCheck, EXTENSION, EXTENSION_TYPE, type ExtensionScope } from './extension-check.ts'
import type { Holder } from './extension-context.ts'
import { createExtensionDefinitions } from './extension-definitions.ts'

type Json = Record<string, unknown>
type Emit = ProfileCheck['emit']

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

interface ElementMember {
  readonly field: Field
  readonly type: FieldType
}

/** The fields of a block by JSON member name. For a primitive it is the name `_name`, because that member has the extensions. */
const membersOf = (block: ElementBlock): ReadonlyMap<string, ElementMember> =>
  new Map(
    block.fields.flatMap((field) =>
      field.members.all.map(
        ({ json, under, type }) => [type.kind === 'primitive' ? under : json, { field, type }] as const,
      ),
    ),
  )

export interface ExtensionChecks {
  /** Whether the definition of at least one of these extensions is installed; undefined if some are not loaded yet. */
  anyKnown(urls: ReadonlySet<string>): boolean | undefined
  /** Checks the extensions of a resource and reports issues to `report`. Throws Pending. */
  check(resource: Json, at: LocationPath, report: Emit): void
}

export const createExtensionChecks = (
  find: FindDefinition,
  { tree, visit, shapeOf }: ProfileChecker,
): ExtensionChecks => {
  const { definitionOf, anyKnown } = createExtensionDefinitions(find, tree)
  const check = createExtensionCheck(definitionOf, { visit, shapeOf })
  const members = new WeakMap<ElementBlock, ReadonlyMap<string, ElementMember>>()

  const one = (
    value: Json,
    name: string,
    at: LocationPath,
    holder: Holder,
    scope: ExtensionScope,
    count: number,
  ): void => {
    const url = String(value.url)
    check(value, name, at, holder, scope, count)
    const inside = contentOf(
      { value, sibling: undefined, type: EXTENSION_TYPE, shape: shapeOf(EXTENSION)!, path: at },
      shapeOf,
    )
    if (inside !== undefined)
      walk(inside, at, { up: holder, name, type: 'Extension', block: inside.block, isResource: false, url }, scope)
  }

  const extensions = (list: unknown, name: string, up: LocationPath, holder: Holder, scope: ExtensionScope): void => {
    if (!Array.isArray(list)) return
    const counts = new Map<unknown, number>()
    for (const [index, value] of list.entries()) {
      if (!isObject(value)) continue
      const count = (counts.get(value.url) ?? 0) + 1
      counts.set(value.url, count)
      one(value, name, { up, name, index }, holder, scope, count)
    }
  }

  const element = (
    value: unknown,
    { field, type }: ElementMember,
    shape: ElementContent['shape'],
    at: LocationPath,
    up: Holder,
    scope: ExtensionScope,
  ) => {
    if (!isObject(value)) return
    const isPrimitive = type.kind === 'primitive'
    const location: ElementLocation = { value: isPrimitive ? undefined : value, sibling: value, type, shape, path: at }
    const inside = contentOf(location, shapeOf)
    if (inside === undefined) return
    const isResource = type.kind === 'resource'
    const holder: Holder = {
      up: isResource ? undefined : up,
      name: field.name,
      type: type.kind === 'block' ? type.path : typeNameOf(location),
      block: isPrimitive ? undefined : inside.block,
      isResource,
      url: undefined,
    }
    const root = isResource && field.name !== 'contained' ? value : scope.root
    walk(inside, at, holder, isResource ? { ...scope, resource: value, root } : scope)
  }

  const walk = (
    { object, shape, block }: ElementContent,
    at: LocationPath,
    holder: Holder,
    scope: ExtensionScope,
  ): void => {
    let known = members.get(block)
    if (known === undefined) {
      known = membersOf(block)
      members.set(block, known)
    }
    for (const key in object) {
      const member = known.get(key)
      if (member === undefined) continue
      const { name } = member.field
      const value = object[key]
      if (name === 'extension' || name === 'modifierExtension') extensions(value, name, at, holder, scope)
      else if (Array.isArray(value))
        for (let index = 0; index < value.length; index++)
          element(value[index], member, shape, { up: at, name, index }, holder, scope)
      else element(value, member, shape, { up: at, name, index: -1 }, holder, scope)
    }
  }

  return {
    anyKnown,
    check(resource, at, report) {
      const location: ElementLocation = {
        value: resource,
        sibling: undefined,
        type: { kind: 'resource', suffix: '' },
        shape: shapeOf(EXTENSION)!,
        path: at,
      }
      const inside = contentOf(location, shapeOf)
      if (inside === undefined) return
      const { block } = inside
      const holder: Holder = {
        up: undefined,
        name: '',
        type: typeNameOf(location),
        block,
        isResource: true,
        url: undefined,
      }
      walk(inside, at, holder, { resource, root: resource, report })
    },
  }
}

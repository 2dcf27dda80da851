/** Makes schemas/server-toml.schema.json, against which editors check a server.toml while it is written. */
import { choices } from '../../kernel/settings/allowed.ts'
import type { Setting, SettingSchema } from '../../kernel/settings/annotation.ts'

type Json = Record<string, unknown>

// Keywords of JSON Schema; other properties of our schemas are annotations and are left out.
const KEYWORDS = [
  'type',
  'description',
  'default',
  'format',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
  'minItems',
  'maxItems',
] as const

const jsonOf = (schema: SettingSchema): Json => {
  const json: Json = {}
  for (const keyword of KEYWORDS) if (schema[keyword] !== undefined) json[keyword] = schema[keyword]
  const literals = choices(schema)
  if (literals !== undefined) json.enum = literals
  else if (schema.anyOf !== undefined) json.anyOf = schema.anyOf.map(jsonOf)
  if (schema.pattern !== undefined)
    json.pattern = schema.pattern instanceof RegExp ? schema.pattern.source : schema.pattern
  if (schema.sample !== undefined) json.examples = [schema.sample]
  if (schema.items !== undefined) json.items = jsonOf(schema.items)
  if (schema.properties !== undefined || schema.patternProperties !== undefined) json.additionalProperties = false
  if (schema.properties !== undefined) {
    json.properties = Object.fromEntries(Object.entries(schema.properties).map(([key, own]) => [key, jsonOf(own)]))
    const required = (schema.required ?? []).filter((key) => schema.properties?.[key]?.default === undefined)
    if (required.length > 0) json.required = required
  }
  if (schema.patternProperties !== undefined)
    json.patternProperties = Object.fromEntries(
      Object.entries(schema.patternProperties).map(([pattern, own]) => [pattern, jsonOf(own)]),
    )
  return json
}

const table = (): Json => ({ type: 'object', additionalProperties: false, properties: {} })

/** The object schema of a section; it and those around it are created if missing. */
const tableAt = (root: Json, section: string): Json => {
  let at = root
  for (const word of section.split('.')) {
    const properties = at.properties as Record<string, Json>
    properties[word] ??= table()
    at = properties[word]
  }
  return at
}

/**
 * No key is required: what the file leaves out can come from the environment. Settings that the file must not hold are
 * left out.
 */
export const jsonSchema = (settings: readonly Setting[]): string => {
  const root: Json = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'server.toml',
    description: 'Settings of the FHIR server. Generated from the declarations of its plugins.',
    ...table(),
  }
  for (const { section, key, schema } of settings) {
    if (schema.fileForbidden === true) continue
    const properties = tableAt(root, section).properties as Json
    properties[key] = jsonOf(schema)
  }
  // A third-party plugin's keys are known only when it is loaded, so any are allowed under [plugin].
  const properties = root.properties as Json
  properties.plugin = { type: 'object', description: 'Settings of third-party plugins, by name.' }
  return `${JSON.stringify(root, null, 2)}\n`
}

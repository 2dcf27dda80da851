/** The example resources of R4 that are no definitions: what the disk figure stores beside the clinical corpus. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { examplesFolder } from '../plugins.ts'
import type { Body } from './seed.ts'

/** Conformance and terminology resources: installed as a package, not stored as data. */
const DEFINITIONS = new Set([
  'CapabilityStatement',
  'CodeSystem',
  'CompartmentDefinition',
  'ConceptMap',
  'ImplementationGuide',
  'NamingSystem',
  'OperationDefinition',
  'SearchParameter',
  'StructureDefinition',
  'StructureMap',
  'ValueSet',
])

/** As compact JSON; numbers keep their digits because the text is only stripped of its white space. */
export const readExamples = (): readonly Body[] =>
  readdirSync(examplesFolder)
    .filter((name) => /^[A-Z][A-Za-z]+-.*\.json$/.test(name))
    .map((name) => ({ type: name.slice(0, name.indexOf('-')), name }))
    .filter(({ type }) => !DEFINITIONS.has(type))
    .map(({ type, name }) => ({ type, text: compact(readFileSync(join(examplesFolder, name), 'utf8')) }))

const compact = (text: string): string =>
  text.replace(/"(?:[^"\\]|\\.)*"|\s+/g, (part) => (part.startsWith('"') ? part : ''))

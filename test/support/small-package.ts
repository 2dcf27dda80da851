/** A package of a few R4 definitions, for tests that a program serves: installing all of them takes some seconds. */
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { examplesFolder } from './stub-definitions.ts'

const FILES =
  /^(package|StructureDefinition-(Patient|Bundle|CapabilityStatement|OperationOutcome|Element|Extension|HumanName|Meta)|SearchParameter-(Patient|individual|Resource)-.*)\.json$/

/** Makes the folder of the package; returns its path. */
export const smallPackage = (folder: string): string => {
  mkdirSync(folder, { recursive: true })
  for (const name of readdirSync(examplesFolder))
    if (FILES.test(name)) copyFileSync(join(examplesFolder, name), join(folder, name))
  return folder
}

/** Makes the data that threads are started with. Returns the same object until packages or search parameters change. */

import type { ReferencePaths } from '../../model/service.ts'
import type { Definitions } from '../../packages/service.ts'
import type { FullTextMode, Registry } from '../../search/service.ts'
import type { Validator } from '../../validation/service.ts'
import type { ThreadData } from './thread-data.ts'

export interface ThreadDataParts {
  readonly definitions: Definitions
  readonly registry: Pick<Registry, 'source'>
  readonly referencePaths: ReferencePaths
  readonly types: readonly string[]
  readonly fullTextMode: FullTextMode
  readonly validator: Validator | undefined
}

export const threadDataOf = (parts: ThreadDataParts): (() => ThreadData) => {
  const { definitions, registry, referencePaths, types, fullTextMode, validator } = parts
  let made: ThreadData | undefined
  return () => {
    if (made?.fingerprint !== definitions.fingerprint || made.extraction !== registry.source)
      made = {
        referencePaths,
        types,
        packages: definitions.packages,
        fingerprint: definitions.fingerprint,
        fullTextMode,
        extraction: registry.source,
        validator: validator?.remote,
      }
    return made
  }
}

/**
 * Loads the search definitions of the installed packages. They are compiled when the packages have changed;
 * parameters that cannot be indexed are logged at that time only.
 */
import type { Logger } from '../../../kernel/index.ts'
import type { TypeCatalog } from '../../model/service.ts'
import type { Definition, Definitions } from '../../packages/service.ts'
import { caselessSystems } from './caseless-systems.ts'
import { compileSearchDefinitions } from './compile-definitions.ts'
import type { CompartmentDefinitionResource, SearchDefinitions, SearchParameterResource } from './stored-definitions.ts'
import { unindexed } from './unindexed.ts'

export interface LoadedDefinitions {
  readonly model: SearchDefinitions
  /** Code systems whose codes are compared without case. */
  readonly caseless: readonly string[]
}

// Increased when the compiled format changes, so that files of an older build are not read.
const LAYOUT = 1

const parse = <T>({ json }: Definition): T => JSON.parse(json) as T

export const loadModel = (
  { types, compiled }: Pick<TypeCatalog, 'types' | 'compiled'>,
  definitions: Definitions,
  log: Logger,
): Promise<LoadedDefinitions> =>
  compiled('search', LAYOUT, async (structures): Promise<LoadedDefinitions> => {
    const names = [...types.keys()]
    const parameters = (await definitions.all('SearchParameter')).map(parse<SearchParameterResource>)
    const model = compileSearchDefinitions({
      structures,
      types: names,
      parameters,
      compartments: (await definitions.all('CompartmentDefinition')).map(parse<CompartmentDefinitionResource>),
    })
    for (const { url, reason } of unindexed(parameters, model, names))
      log.warn({ parameter: url, reason }, 'a search parameter of a package cannot be indexed')
    return { model, caseless: caselessSystems(await definitions.all('CodeSystem')) }
  })

/** Merges the SearchParameters of clients with the definitions of the packages. What that needs is loaded at its first use. */
import { type InterpretedNodes, loadPathInterpreter, type Members } from '../../model/service.ts'
import {
  type ClientParameterCompiler,
  type ClientParameterRow,
  createClientParameterCompiler,
} from '../definition/client-parameters.ts'
import type { SearchDefinitions } from '../definition/stored-definitions.ts'

type ToNodes = (expression: string) => InterpretedNodes

export interface MergedDefinitions {
  compiler(): Promise<ClientParameterCompiler>
  /** Loads fhirpath.js, which few expressions need. */
  toNodes(): Promise<ToNodes>
  /** The same, once it was loaded. */
  loadedNodes(): ToNodes | undefined
  /** The definitions with those that were posted. */
  modelOf(posted: readonly ClientParameterRow[]): Promise<SearchDefinitions>
}

export const createMergedDefinitions = (
  packages: SearchDefinitions,
  types: readonly string[],
  members: () => Promise<Members>,
): MergedDefinitions => {
  let compiler: Promise<ClientParameterCompiler> | undefined
  const openCompiler = async (): Promise<ClientParameterCompiler> =>
    createClientParameterCompiler(packages, await members(), new Set(types))

  const getCompiler = (): Promise<ClientParameterCompiler> => {
    // After a failure the next call tries again, because the database may have been unreachable.
    compiler ??= openCompiler().catch((error) => {
      compiler = undefined
      throw error
    })
    return compiler
  }

  let exotic: Promise<ToNodes> | undefined
  let toNodes: ToNodes | undefined
  const getNodes = async (): Promise<ToNodes> => {
    exotic ??= loadPathInterpreter()
    toNodes = await exotic
    return toNodes
  }

  let merged: { readonly from: string; readonly model: SearchDefinitions } = { from: '[]', model: packages }
  const modelOf = async (posted: readonly ClientParameterRow[]): Promise<SearchDefinitions> => {
    const from = JSON.stringify(posted)
    if (merged.from !== from)
      merged = { from, model: posted.length === 0 ? packages : (await getCompiler()).merge(posted) }
    const { model } = merged
    if (model.columns.some((column) => column.exotic === true)) await getNodes()
    return model
  }

  return { compiler: getCompiler, toNodes: getNodes, loadedNodes: () => toNodes, modelOf }
}

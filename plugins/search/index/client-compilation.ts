/** Compiles SearchParameter resources of clients. What that needs is loaded before the transaction of the first of them. */
import { checkCompiled, checkElements } from '../definition/check-client-parameter.ts'
import { type ClientParameterCompiler, type CompiledParameter, toDefinition } from '../definition/client-parameters.ts'
import type { Registry } from './registry.ts'

type Resource = Readonly<Record<string, unknown>>

export interface ClientCompilation {
  /** The compiler; undefined as long as it is not loaded. */
  compiler(): ClientParameterCompiler | undefined
  load(): Promise<ClientParameterCompiler>
  /**
   * Checks an active SearchParameter by itself. Throws 422. Returns a promise only while fhirpath.js has to be loaded, which
   * takes a moment and which few expressions need.
   */
  check(resource: Resource, loaded: ClientParameterCompiler): void | Promise<void>
  /** Checks the expressions of a compiled parameter. Throws 422. */
  checkCompiled(compiled: CompiledParameter): void
}

/** `types`: names of all resource types. */
export const createClientCompilation = (registry: Registry, types: ReadonlySet<string>): ClientCompilation => {
  let compiler: ClientParameterCompiler | undefined
  let toNodes: Awaited<ReturnType<Registry['toNodes']>> | undefined

  const compileAlone = (resource: Resource, loaded: ClientParameterCompiler): CompiledParameter => {
    const definition = toDefinition(resource)
    checkElements(definition, types)
    return loaded.compile(definition, [])
  }

  const check = (resource: Resource, loaded: ClientParameterCompiler): void | Promise<void> => {
    const { component = [] } = toDefinition(resource)
    const compiled = compileAlone(resource, loaded)
    // The kinds of a composite's components depend on other definitions, which the same Bundle may bring: they are
    // checked inside the transaction.
    if (component.length > 0) return
    if (toNodes !== undefined || !compiled.columns.some(({ exotic }) => exotic === true))
      return checkCompiled(compiled, toNodes)
    return registry.toNodes().then((nodes) => {
      toNodes = nodes
      checkCompiled(compiled, nodes)
    })
  }

  return {
    compiler: () => compiler,
    async load() {
      compiler = await registry.compiler()
      return compiler
    },
    check,
    checkCompiled: (compiled) => checkCompiled(compiled, toNodes),
  }
}

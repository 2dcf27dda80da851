/** The fields of types, read from a definition once. */
import { type DefinitionSource, fieldsOf, type StructureDefinition, type TypeFields } from '../../model/service.ts'

export interface TypeShapes {
  /** The fields of a type. Undefined: not installed. Null: not loaded yet. */
  shape(url: string): TypeFields | null | undefined
  /** The fields of the type that the definition defines, which needs a snapshot. */
  shapeFrom(definition: StructureDefinition): TypeFields
}

export const createTypeShapes = (source: DefinitionSource): TypeShapes => {
  const shapes = new Map<string, TypeFields>()

  const shapeFrom = (definition: StructureDefinition): TypeFields => {
    const known = shapes.get(definition.url)
    if (known !== undefined) return known
    const shape = fieldsOf(definition)
    shapes.set(definition.url, shape)
    return shape
  }

  return {
    shapeFrom,
    shape(url) {
      const known = shapes.get(url)
      if (known !== undefined) return known
      const definition = source.definition(url)
      if (definition === null) return null
      return definition?.snapshot === undefined ? undefined : shapeFrom(definition)
    },
  }
}

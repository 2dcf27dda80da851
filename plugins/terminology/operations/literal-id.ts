/**
 * The id in `Type/id`: such a name is a resource of this server and is read with the caller's access. A canonical is a
 * definition.
 */
export const literalId = (type: string, name: string | undefined): string | undefined =>
  name?.startsWith(`${type}/`) === true && !name.includes('|') ? name.slice(type.length + 1) : undefined

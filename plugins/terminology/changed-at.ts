/** When a definition was changed last, as it says itself, or as it was stored: a dateTime. */
export const changedAt = ({ date, meta }: Readonly<Record<string, unknown>>): string | undefined => {
  const text = date ?? (meta as Readonly<Record<string, unknown>> | undefined)?.lastUpdated
  return typeof text === 'string' ? text : undefined
}

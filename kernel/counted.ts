/** `1 resource`, `2 resources`: a number with its noun, for messages. */
export const counted = (count: number, one: string, several = `${one}s`): string =>
  `${count} ${count === 1 ? one : several}`

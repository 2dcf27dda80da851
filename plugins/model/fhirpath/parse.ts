/**
 * Reads the part of FHIRPath that search parameters are written in: paths, `as`, `is`, `ofType`, `where`, unions,
 * comparisons. What it cannot read is left to fhirpath.js. https://hl7.org/fhirpath/N1/#expressions
 */

export type Expression =
  | { readonly kind: 'this' }
  | { readonly kind: 'root' }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  | { readonly kind: 'member'; readonly on: Expression; readonly name: string }
  | { readonly kind: 'index'; readonly on: Expression; readonly at: number }
  | { readonly kind: 'call'; readonly on: Expression; readonly name: string; readonly args: readonly Expression[] }
  | { readonly kind: 'type'; readonly on: Expression; readonly operator: 'as' | 'is'; readonly type: string }
  | {
      readonly kind: 'binary'
      readonly operator: '|' | 'and' | 'or' | '=' | '!='
      readonly left: Expression
      readonly right: Expression
    }

const TOKEN =
  /\s*(?:(?<name>[A-Za-z_][A-Za-z0-9_]*)|(?<quoted>`[^`]+`)|(?<text>'(?:[^'\\]|\\.)*')|(?<number>\d+(?:\.\d+)?)|(?<sign>!=|[|=.()[\],%$]))/y

const tokenize = (text: string): string[] => {
  const tokens: string[] = []
  TOKEN.lastIndex = 0
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const match = TOKEN.exec(text)
    if (match === null) throw new SyntaxError(`not readable here: ${text}`)
    tokens.push(match[0].trim())
  }
  return tokens
}

const BINARY: readonly (readonly string[])[] = [['or'], ['and'], ['=', '!='], ['|']]

/** Throws a SyntaxError for what is outside the subset. */
export const parse = (text: string): Expression => {
  const tokens = tokenize(text)
  let at = 0
  const peek = (): string | undefined => tokens[at]
  const take = (): string => {
    const token = tokens[at]
    if (token === undefined) throw new SyntaxError(`ends too early: ${text}`)
    at += 1
    return token
  }
  const expect = (token: string): void => {
    if (take() !== token) throw new SyntaxError(`"${token}" expected: ${text}`)
  }
  const readName = (): string => {
    const token = take()
    if (!/^[A-Za-z_`]/.test(token)) throw new SyntaxError(`"${token}" is not expected: ${text}`)
    return token.replaceAll('`', '')
  }
  const readType = (): string => {
    let type = readName()
    // `FHIR.Patient` and `System.String` name the same as without their model.
    while (peek() === '.' && /^(FHIR|System)$/.test(type)) {
      take()
      type = readName()
    }
    return type
  }
  const readBinary = (level: number): Expression => {
    const operators = BINARY[level]
    if (operators === undefined) return readTyped()
    let left = readBinary(level + 1)
    while (operators.includes(peek() as string)) {
      const operator = take() as '|'
      left = { kind: 'binary', operator, left, right: readBinary(level + 1) }
    }
    return left
  }
  const readTyped = (): Expression => {
    let on = readPath()
    while (peek() === 'as' || peek() === 'is') {
      const operator = take() as 'as'
      on = { kind: 'type', on, operator, type: readType() }
    }
    return on
  }
  const readCall = (on: Expression, name: string): Expression => {
    expect('(')
    if (name === 'as' || name === 'is' || name === 'ofType') {
      const type = readType()
      expect(')')
      return { kind: 'type', on, operator: name === 'is' ? 'is' : 'as', type }
    }
    const args: Expression[] = []
    while (peek() !== ')') {
      args.push(readBinary(0))
      if (peek() === ',') take()
    }
    expect(')')
    return { kind: 'call', on, name, args }
  }
  const readTerm = (): Expression => {
    const token = take()
    if (token === '(') {
      const inner = readBinary(0)
      expect(')')
      return inner
    }
    if (token === '%') {
      const name = take()
      if (name === 'resource' || name === 'context') return { kind: 'root' }
      throw new SyntaxError(`the variable %${name} is not known: ${text}`)
    }
    if (token === '$') {
      if (take() === 'this') return { kind: 'this' }
      throw new SyntaxError(`the variable is not known: ${text}`)
    }
    if (token.startsWith("'")) return { kind: 'literal', value: token.slice(1, -1).replace(/\\(.)/g, '$1') }
    if (/^\d/.test(token)) return { kind: 'literal', value: Number(token) }
    if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' }
    if (!/^[A-Za-z_`]/.test(token)) throw new SyntaxError(`"${token}" is not expected: ${text}`)
    const name = token.replaceAll('`', '')
    return peek() === '(' ? readCall({ kind: 'this' }, name) : { kind: 'member', on: { kind: 'this' }, name }
  }
  const readPath = (): Expression => {
    let on = readTerm()
    for (;;) {
      if (peek() === '.') {
        take()
        const name = readName()
        on = peek() === '(' ? readCall(on, name) : { kind: 'member', on, name }
      } else if (peek() === '[') {
        take()
        on = { kind: 'index', on, at: Number(take()) }
        expect(']')
      } else return on
    }
  }
  const expression = readBinary(0)
  if (at < tokens.length) throw new SyntaxError(`"${tokens[at]}" is not expected: ${text}`)
  return expression
}

/** The members of a union, in order. */
export const unionOperands = (expression: Expression): readonly Expression[] =>
  expression.kind === 'binary' && expression.operator === '|'
    ? [...unionOperands(expression.left), ...unionOperands(expression.right)]
    : [expression]

/** One spelling for equal expressions: the key under which a column is kept. */
export const print = (expression: Expression): string => {
  const on = (one: Expression): string => (one.kind === 'this' ? '' : `${print(one)}.`)
  switch (expression.kind) {
    case 'this':
      return '$this'
    case 'root':
      return '%resource'
    case 'literal':
      return typeof expression.value === 'string'
        ? `'${expression.value.replace(/['\\]/g, '\\$&')}'`
        : String(expression.value)
    case 'member':
      return `${on(expression.on)}${expression.name}`
    case 'index':
      return `${print(expression.on)}[${expression.at}]`
    case 'call':
      return `${on(expression.on)}${expression.name}(${expression.args.map(print).join(', ')})`
    case 'type':
      return expression.operator === 'as'
        ? `${on(expression.on)}ofType(${expression.type})`
        : `(${print(expression.on)} is ${expression.type})`
    case 'binary':
      return `(${print(expression.left)} ${expression.operator} ${print(expression.right)})`
  }
}

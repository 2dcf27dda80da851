/** Renders tables as HTML. On a narrow screen the stylesheet shows each row as a list of column names and values. */
import { type Html, html, type Part } from '../html/service.ts'

export interface Column<Row> {
  readonly name: string
  readonly isNumber?: boolean
  /** It needs no name on a narrow screen. */
  readonly isPicture?: boolean
  readonly cell: (row: Row) => Part
}

export interface TableContent<Row> {
  readonly caption: Part
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
}

export const table = <Row>({
  caption,
  columns,
  rows,
}: TableContent<Row>): Html => html`<div class="scroll"><table class="rows">
<caption>${caption}</caption>
<thead><tr>${columns.map(({ name, isNumber }) => html`<th scope="col"${isNumber && html` class="number"`}>${name}</th>`)}</tr></thead>
<tbody>${rows.map(
  (row) =>
    html`<tr>${columns.map(({ name, isNumber, isPicture, cell }) => html`<td${isPicture !== true && html` data-label="${name}"`}${isNumber && html` class="number"`}>${cell(row)}</td>`)}</tr>`,
)}</tbody></table></div>`

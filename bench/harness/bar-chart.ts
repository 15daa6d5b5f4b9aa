export interface Bar {
  readonly name: string
  readonly value: number
  /** The value as it is to be read. */
  readonly text: string
  readonly isOwn: boolean
}

const width = 720
const nameWidth = 150
const textWidth = 110
const barHeight = 20
const rowHeight = 28
const titleHeight = 40

/** Bars from the left, the first one uppermost, on a scale from 0; readable on a light page and on a dark one. */
export function barChart(title: string, bars: readonly Bar[]): string {
  const height = titleHeight + bars.length * rowHeight + 8
  const greatest = Math.max(...bars.map(({ value }) => value), Number.MIN_VALUE)
  const rows = bars.map(({ name, value, text, isOwn }, row) => {
    const top = titleHeight + row * rowHeight
    const length = Math.max(1, Math.round((Math.max(0, value) / greatest) * (width - nameWidth - textWidth)))
    const middle = top + barHeight / 2 + 5
    return [
      `  <text x="${nameWidth - 8}" y="${middle}" text-anchor="end">${escaped(name)}</text>`,
      `  <rect x="${nameWidth}" y="${top}" width="${length}" height="${barHeight}" rx="3" class="${isOwn ? 'own' : 'other'}"/>`,
      `  <text x="${nameWidth + length + 8}" y="${middle}">${escaped(text)}</text>`,
    ].join('\n')
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>${escaped(title)}</title>
  <style>
    text { font: 14px system-ui, sans-serif; fill: #1f2328 }
    .title { font-weight: 600 }
    .own { fill: #0969da }
    .other { fill: #8c959f }
    @media (prefers-color-scheme: dark) { text { fill: #e6edf3 } .own { fill: #4493f8 } .other { fill: #6e7681 } }
  </style>
  <text x="0" y="22" class="title">${escaped(title)}</text>
${rows.join('\n')}
</svg>
`
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

/**
 * What a reader of a document would type, and what he is told comes of it. Comments in front of a block, which nobody sees
 * on the page, say what a reader knows by himself:
 *
 *     <!-- not run: why -->     this block can't be run by a test
 *     <!-- needs: g++ -->       nor where this program is missing
 *     <!-- runs on -->          it is typed into a terminal of its own, serves, and goes on until the next such block
 *     <!-- runs on: words -->   the same, and the reader waits until it prints these words
 *     <!-- file: watch.mjs -->  the reader puts this block, of whatever language, into a file of that name
 *     <!-- from: a/file.py -->  this block stands in that file of the project, word for word
 */
export interface ShellBlock {
  readonly kind: 'shell'
  /** Of its fence, from 1. */
  readonly line: number
  readonly text: string
  readonly notRun: string | undefined
  readonly needs: string | undefined
  /** What to wait for, which may be empty; undefined where it does not run on. */
  readonly runsOn: string | undefined
  /** A block of `text` or `json` right behind it, without a word between them. */
  readonly printed: string | undefined
}

interface FileBlock {
  readonly kind: 'file'
  readonly line: number
  readonly name: string
  readonly text: string
}

interface QuoteBlock {
  readonly kind: 'quote'
  readonly line: number
  /** Of the project. */
  readonly path: string
  readonly text: string
}

export type Block = ShellBlock | FileBlock | QuoteBlock

interface Fenced {
  readonly line: number
  readonly language: string
  readonly text: string
  readonly notes: ReadonlyMap<string, string>
  /** No words between it and the block before. */
  readonly isRightBehind: boolean
}

/** The blocks of a document that something is done with, in the order in which they stand. */
export function blocksOf(document: string): Block[] {
  const fenced = fencedBlocks(document)
  return fenced.flatMap((block, index): Block[] => {
    const { line, language, text, notes } = block
    const name = notes.get('file')
    if (name !== undefined) return [{ kind: 'file', line, name, text }]
    const path = notes.get('from')
    if (path !== undefined) return [{ kind: 'quote', line, path, text }]
    if (language !== 'sh') return []
    const next = fenced[index + 1]
    const isPrinted = next?.isRightBehind && /^(text|json)$/.test(next.language) && !next.notes.has('file')
    return [
      {
        kind: 'shell',
        line,
        text,
        notRun: notes.get('not run'),
        needs: notes.get('needs'),
        runsOn: notes.get('runs on'),
        printed: isPrinted ? next.text : undefined,
      },
    ]
  })
}

function fencedBlocks(document: string): Fenced[] {
  const blocks: Fenced[] = []
  let notes = new Map<string, string>()
  let isRightBehind = false
  let open: { line: number; language: string; lines: string[]; indent: number } | undefined
  for (const [index, line] of document.split('\n').entries()) {
    const fence = /^( *)```(\w*)$/.exec(line)
    if (open) {
      if (fence && fence[2] === '') {
        const { lines, indent, ...where } = open
        const text = lines.map((each) => each.slice(indent)).join('\n')
        blocks.push({ ...where, text, notes, isRightBehind })
        open = undefined
        notes = new Map()
        isRightBehind = true
      } else open.lines.push(line)
      continue
    }
    const note = /^ *<!-- (not run|needs|runs on|file|from)(?:: (.+))? -->$/.exec(line)
    if (fence) open = { line: index + 1, language: fence[2] ?? '', lines: [], indent: (fence[1] ?? '').length }
    else if (note) notes.set(note[1] ?? '', note[2] ?? '')
    else if (line.trim() !== '') {
      notes = new Map()
      isRightBehind = false
    }
  }
  return blocks
}

/**
 * Whether this is what the document says is printed. `…` in it stands for anything within a line, alone in a line for any
 * lines, and a time of thirteen digits for any time.
 */
export function isPrinted(output: string, printed: string): boolean {
  const lines = printed.split('\n').map((line) => {
    if (line.trim() === '…') return '(?:[^\n]*\n)*?'
    const pattern = line
      .trimEnd()
      .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
      .replaceAll('…', '.*?')
      .replace(/\b\d{13}\b/g, '\\d{13}')
    return `${pattern}[ \\t\\r]*\n`
  })
  return new RegExp(`^${lines.join('')}`, 'm').test(`${output}\n`)
}

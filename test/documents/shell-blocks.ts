/**
 * A block of commands in a document, and its printed output. Hidden comments before a block describe how to run it:
 *
 *     <!-- not run: why -->     tests cannot run this block
 *     <!-- needs: g++ -->       the block is skipped if this program is missing
 *     <!-- runs on -->          the block starts a server, in its own shell, which runs until the next such block
 *     <!-- runs on: words -->   the same, and the test waits until it prints these words
 *     <!-- file: watch.mjs -->  the text of this block, in any language, is written to a file of that name
 *     <!-- from: a/file.py -->  this block is copied from that file of the project
 */
export interface ShellBlock {
  readonly kind: 'shell'
  /** The number of the line with the fence, from 1. */
  readonly line: number
  readonly text: string
  readonly notRun: string | undefined
  readonly needs: string | undefined
  /** The output to wait for, which may be empty. It is undefined if the block ends by itself. */
  readonly runsOn: string | undefined
  /** The text of the next block, if it is `text` or `json` and no words are between the blocks. */
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
  readonly path: string
  readonly text: string
}

export type Block = ShellBlock | FileBlock | QuoteBlock

interface Fenced {
  readonly line: number
  readonly language: string
  readonly text: string
  readonly notes: ReadonlyMap<string, string>
  /** True if there are no words between this block and the one before. */
  readonly isAdjacent: boolean
}

/** The blocks of a document that tests use, in order. */
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
    const isPrinted = next?.isAdjacent && /^(text|json)$/.test(next.language) && !next.notes.has('file')
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
  let isAdjacent = false
  let open: { line: number; language: string; lines: string[]; indent: number } | undefined
  for (const [index, line] of document.split('\n').entries()) {
    const fence = /^( *)```(\w*)$/.exec(line)
    if (open) {
      if (fence?.[2] !== '') {
        open.lines.push(line)
        continue
      }
      const { lines, indent, ...place } = open
      const text = lines.map((each) => each.slice(indent)).join('\n')
      blocks.push({ ...place, text, notes, isAdjacent })
      open = undefined
      notes = new Map()
      isAdjacent = true
      continue
    }
    const note = /^ *<!-- (not run|needs|runs on|file|from)(?:: (.+))? -->$/.exec(line)
    if (fence) open = { line: index + 1, language: fence[2] ?? '', lines: [], indent: (fence[1] ?? '').length }
    else if (note) notes.set(note[1] ?? '', note[2] ?? '')
    else if (line.trim() !== '') {
      notes = new Map()
      isAdjacent = false
    }
  }
  return blocks
}

/**
 * Whether the output contains the printed text of a document. In this text, `…` matches anything within a line, or any
 * lines if it is alone in a line. A time of thirteen digits matches any time.
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

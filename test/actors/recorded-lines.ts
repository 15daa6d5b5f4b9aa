/** Records notices as lines, in their order. */
export class RecordedLines {
  readonly lines: string[] = []

  /** The lines since the last call. */
  get received(): string[] {
    return this.lines.splice(0)
  }
}

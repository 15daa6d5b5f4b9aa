/** The first piece is small, because most answers are small. The next pieces are larger. */
const pieceBytesMin = 4 * 1024
const pieceBytesMax = 256 * 1024
/** A text up to this length is written byte by byte, which is faster. */
const shortCharactersMax = 64
/** Space for any number. */
const numberBytesMax = 32

const [zero, minus, point] = [0x30, 0x2d, 0x2e] as const
const digitsMax = 6
const scale = 1e6
/** Numbers of up to 15 digits are exact. */
const wholeMax = 1e15
const numbersAtOnce = 512
/** The numbers that become text together. All calls share the list. */
const batch: number[] = []

/**
 * A long text as UTF-8, in pieces that can be given to another thread without a copy. Numbers are written as JSON, most
 * of them without making a string.
 */
export class TextPieces {
  #bytes = pieceOf(pieceBytesMin)
  #at = 0
  readonly #pieces: Uint8Array<ArrayBuffer>[] = []

  add(text: string): void {
    // A UTF-16 code unit takes at most three bytes.
    this.#reserve(text.length * 3)
    if (text.length > shortCharactersMax || !this.#addAscii(text)) this.#at += this.#bytes.write(text, this.#at)
  }

  /** Infinity and NaN are null: a sum may be too large for a number. */
  addNumber(value: number): void {
    if (!Number.isFinite(value)) {
      this.add('null')
      return
    }
    const scaled = Math.round(value * scale)
    if (!isShort(value, scaled)) {
      this.#addLarge(value)
      return
    }
    this.#reserve(numberBytesMax)
    if (scaled < 0) this.#bytes[this.#at++] = minus
    const amount = Math.abs(scaled)
    const whole = Math.floor(amount / scale)
    this.#addWhole(whole)
    this.#addDecimals(amount - whole * scale)
  }

  /** Adds numbers with commas between them. */
  addNumbers(numbers: Float64Array): void {
    for (let from = 0; from < numbers.length; from += numbersAtOnce) {
      if (from > 0) this.add(',')
      const part = numbers.subarray(from, from + numbersAtOnce)
      if (isShort(part[0] as number)) {
        for (let index = 0; index < part.length; index++) {
          if (index > 0) this.add(',')
          this.addNumber(part[index] as number)
        }
        continue
      }
      // V8 keeps the texts of single numbers in a cache, so many such texts cause full garbage collections.
      batch.length = Math.min(batch.length, part.length)
      for (let index = 0; index < part.length; index++) batch[index] = part[index] as number
      const text = JSON.stringify(batch).slice(1, -1)
      this.#reserve(text.length)
      this.#at += this.#bytes.write(text, this.#at, 'latin1')
    }
  }

  /** Adds the items of a list, with commas between them. */
  addList(count: number, addItem: (index: number) => void): void {
    for (let index = 0; index < count; index++) {
      if (index > 0) this.add(',')
      addItem(index)
    }
  }

  take(): readonly Uint8Array<ArrayBuffer>[] {
    if (this.#at > 0) this.#pieces.push(this.#bytes.subarray(0, this.#at))
    return this.#pieces
  }

  #addLarge(value: number): void {
    if (!Number.isInteger(value) || value >= wholeMax || value <= -wholeMax) {
      this.add(String(value))
      return
    }
    this.#reserve(numberBytesMax)
    if (value < 0) this.#bytes[this.#at++] = minus
    this.#addWhole(Math.abs(value))
  }

  #addWhole(number: number): void {
    if (number < 1e8) {
      let digits = 1
      for (let limit = 10; number >= limit; limit *= 10) digits++
      this.addDigits(number, digits)
      return
    }
    const high = Math.floor(number / 1e8)
    this.#addWhole(high)
    this.addDigits(number - high * 1e8, 8)
  }

  /** Millionths, without zeros at the end. */
  #addDecimals(number: number): void {
    if (number === 0) return
    let digits = digitsMax
    let rest = number | 0
    for (; rest % 10 === 0; digits--) rest = (rest / 10) | 0
    this.#bytes[this.#at++] = point
    this.addDigits(rest, digits)
  }

  /** A whole number below 10⁸, with zeros before it. */
  addDigits(number: number, digits: number): void {
    this.#reserve(digits)
    const bytes = this.#bytes
    let rest = number | 0
    for (let at = this.#at + digits - 1; at >= this.#at; at--) {
      const next = (rest / 10) | 0
      bytes[at] = zero + rest - next * 10
      rest = next
    }
    this.#at += digits
  }

  /** Returns false, and adds nothing, if a character is not ASCII. */
  #addAscii(text: string): boolean {
    const bytes = this.#bytes
    const at = this.#at
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code > 0x7f) return false
      bytes[at + index] = code
    }
    this.#at = at + text.length
    return true
  }

  #reserve(length: number): void {
    if (this.#at + length > this.#bytes.length) this.#end(length)
  }

  /** Ends a piece. The next piece has space for this many bytes. */
  #end(length: number): void {
    if (this.#at > 0) this.#pieces.push(this.#bytes.subarray(0, this.#at))
    this.#bytes = pieceOf(Math.max(length, Math.min(this.#bytes.length * 8, pieceBytesMax)))
    this.#at = 0
  }
}

/** Whether a number has at most `digitsMax` decimal digits, and at most nine digits before them. */
function isShort(value: number, scaled = Math.round(value * scale)): boolean {
  return scaled / scale === value && scaled < wholeMax && scaled > -wholeMax
}

/** The buffers of large pieces that were sent. A new buffer for each piece would cause many full garbage collections. */
const spares: Buffer<ArrayBuffer>[] = []
/** 8 MiB in each thread. */
const sparesMax = 32

/** Whether a piece is large enough to be worth the message to the history thread. */
export function isReusable({ buffer }: Uint8Array<ArrayBuffer>): boolean {
  return buffer.byteLength === pieceBytesMax
}

/** Takes back a piece that nothing reads any more. */
export function reusePiece(piece: Uint8Array<ArrayBuffer>): void {
  if (isReusable(piece) && spares.length < sparesMax) spares.push(Buffer.from(piece.buffer))
}

/** A buffer outside of Node's pool, because it is passed to another thread as a whole. */
function pieceOf(length: number): Buffer<ArrayBuffer> {
  return (length === pieceBytesMax ? spares.pop() : undefined) ?? Buffer.allocUnsafeSlow(length)
}

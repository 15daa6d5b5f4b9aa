/** Returns unpredictable bytes. */
export type Random = (byteCount: number) => Uint8Array

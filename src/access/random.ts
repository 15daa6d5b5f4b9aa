/** Chance, as the world gives it: so many bytes that nobody can foresee. */
export type Random = (byteCount: number) => Uint8Array

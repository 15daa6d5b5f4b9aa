/** An operation of a process on a file below one folder. Paths are relative to the folder. */
export type FileOperation =
  | { readonly kind: 'create'; readonly path: string; readonly file: number }
  | { readonly kind: 'write'; readonly file: number; readonly at: number; readonly bytes: Uint8Array }
  | { readonly kind: 'truncate'; readonly file: number; readonly size: number }
  | { readonly kind: 'sync'; readonly file: number }
  | { readonly kind: 'sync_folder'; readonly path: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string }
  | { readonly kind: 'link'; readonly from: string; readonly to: string }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'make_folder'; readonly path: string }

export interface RecordedOperation {
  /** The start of the operation, Unix ms with fractions. */
  readonly at: number
  readonly operation: FileOperation
}

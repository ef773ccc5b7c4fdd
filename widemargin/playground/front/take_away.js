// The picture as a file, and text into the clipboard.

/** The plane as one SVG document: the tint as an image below lines and points. */
export function svgText(plane, theme) {
  const { width, height, svg, canvas } = plane;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`
    + `<rect width="100%" height="100%" fill="${theme.paper}"/><image width="${width}" height="${height}" `
    + `href="${canvas.toDataURL()}"/>${svg.innerHTML}</svg>`;
}

/** The plane as a PNG, twice the size of the screen's. */
export async function pngBlob(plane, theme, scale = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svgText(plane, theme))}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [scale * plane.width, scale * plane.height];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export function saveFile(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** Copy text; false where the browser does not allow it, as on some pages opened from a file. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

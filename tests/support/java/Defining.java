package lost;

import java.lang.reflect.Method;
import java.util.Iterator;
import java.util.Map;

/** Gives classes to a class loader that did not load them: DriverManager asks a driver's caller. */
public class Defining {
  public static void define(ClassLoader loader, Map classes) throws Exception {
    Class[] types = new Class[] {String.class, byte[].class, int.class, int.class};
    Method define = ClassLoader.class.getDeclaredMethod("defineClass", types);
    define.setAccessible(true);
    for (Iterator each = classes.entrySet().iterator(); each.hasNext();) {
      Map.Entry entry = (Map.Entry) each.next();
      byte[] code = (byte[]) entry.getValue();
      Object[] given = new Object[] {entry.getKey(), code, Integer.valueOf(0), Integer.valueOf(code.length)};
      define.invoke(loader, given);
    }
  }
}
